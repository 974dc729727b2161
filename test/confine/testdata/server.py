"""An MCP server on Python's standard library alone, for the confinement tests.

Its one tool, `do`, does what a server commonly does, by the name in `what`.
"""
import asyncio
import json
import os
import pwd
import subprocess
import sys
import threading


def do(what, path):
    if what == "read":
        with open(path) as f:
            return f.read()
    if what == "write":
        with open(path, "w") as f:
            f.write("written\n")
        return "written"
    if what == "user":
        return pwd.getpwuid(os.getuid()).pw_name
    if what == "thread":
        said = []
        t = threading.Thread(target=lambda: said.append("thread"))
        t.start()
        t.join()
        return said[0]
    if what == "subprocess":
        return subprocess.run([path, "-c", "echo child"], capture_output=True, text=True, check=True).stdout.strip()
    if what == "ssl":
        import ssl
        return str(ssl.create_default_context().verify_mode.name)
    if what == "modules":
        import ctypes, hashlib, lzma, sqlite3, zoneinfo  # each maps a library of its own
        return str(sqlite3.connect(":memory:").execute("select 1").fetchone()[0]) + hashlib.sha256(b"").hexdigest()[:4]
    if what == "socket":
        import socket
        socket.socket().close()
        return "a socket"
    raise ValueError(what)


async def main():
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        m = json.loads(line)
        if m.get("method") == "initialize":
            result = {"protocolVersion": m["params"]["protocolVersion"], "capabilities": {"tools": {}},
                      "serverInfo": {"name": "stdlib", "version": "1"}}
        elif m.get("method") == "tools/call":
            a = m["params"]["arguments"]
            try:
                text, failed = await loop.run_in_executor(None, do, a["what"], a.get("path")), False
            except Exception as e:
                text, failed = f"{type(e).__name__}: {e}", True
            result = {"content": [{"type": "text", "text": text}], "isError": failed}
        else:
            continue
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": result}), flush=True)


asyncio.run(main())
