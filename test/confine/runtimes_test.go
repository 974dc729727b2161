//go:build linux

package confine

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/aegis-aar/aegis/confine"
)

// TestJava: a JVM starts, with its threads and its certificates, and reads no more
// than its home.
func TestJava(t *testing.T) {
	needConfinement(t)
	java := lookPath(t, "java")
	javac := lookPath(t, "javac")
	dir := realDir(t)
	writeFile(t, dir+"/Hello.java", `
		public class Hello {
			public static void main(String[] a) throws Exception {
				Thread t = new Thread(() -> System.out.println("thread")); t.start(); t.join();
				System.out.println(javax.net.ssl.SSLContext.getDefault().getProtocol());
				try { new java.io.FileInputStream("/etc/shadow"); } catch (java.io.IOException e) { System.out.println("denied"); }
				try { new java.net.Socket("127.0.0.1", 8); } catch (java.io.IOException e) { System.out.println("denied"); }
			}
		}`)
	if out, err := exec.Command(javac, "-d", dir+"/classes", dir+"/Hello.java").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	e := run(t, newPlan(t, confine.Request{Argv: []string{java, "-cp", dir + "/classes", "Hello"}}), nil)
	if e.err != nil || e.code != 0 || e.stdout != "thread\nDefault\ndenied\ndenied\n" {
		t.Error(e)
	}
}

// TestRuntimes is the matrix of docs/confine.md: what node, Python and Go do at
// start-up and commonly afterwards, with nothing granted but --allow-exec auto and
// what the row says.
func TestRuntimes(t *testing.T) {
	needConfinement(t)
	const node, python = "node", "python"
	for _, c := range []struct {
		name    string
		runtime string
		program string
		r       confine.Request
		stdout  string
	}{
		{"node: worker threads", node, `
			const {Worker} = require('worker_threads')
			new Worker("require('worker_threads').parentPort.postMessage('worker')", {eval: true}).on('message', m => console.log(m))`,
			confine.Request{}, "worker"},
		{"node: child_process of node itself", node, `
			const {execFileSync} = require('child_process')
			console.log(execFileSync(process.execPath, ['-p', '6*7']).toString().trim())`,
			confine.Request{}, "42"},
		{"node: fork with a channel", node, `
			const fs = require('fs'), {fork} = require('child_process')
			fs.writeFileSync(process.env.TMPDIR + '/c.js', "process.send('forked'); process.disconnect()")
			fork(process.env.TMPDIR + '/c.js').on('message', m => console.log(m))`,
			confine.Request{Tmp: true}, "forked"},
		{"node: child_process of a shell", node, `
			require('child_process').exec('echo shell', (e, out) => console.log(e ? e.code : out.trim()))`,
			confine.Request{Exec: []string{"/bin/sh"}}, "shell"},
		{"node: child_process of a shell that is not granted", node, `
			require('child_process').exec('echo shell', (e, out) => console.log(e ? e.code : out.trim()))`,
			confine.Request{}, "EACCES"},
		{"node: stdio ignore", node, `
			require('child_process').spawn(process.execPath, ['-e', '0'], {stdio: 'ignore'}).on('exit', c => console.log('exit', c))`,
			confine.Request{}, "exit 0"},
		{"node: listen on a port", node, `
			require('http').createServer().on('error', e => console.log(e.code)).listen(0, '127.0.0.1', () => { console.log('listens'); process.exit() })`,
			confine.Request{}, "EACCES"},
		{"node: fetch", node, `
			fetch('http://127.0.0.1:8/').catch(e => console.log(e.cause.code))`,
			confine.Request{}, "EACCES"},
		{"node: user and system", node, `
			const os = require('os'); console.log(os.userInfo().uid === process.getuid(), os.cpus().length > 0, os.totalmem() > 0)`,
			confine.Request{}, "true true true"},
		{"node: TLS and random bytes", node, `
			console.log(require('tls').createSecureContext() !== null, require('crypto').randomBytes(4).length)`,
			confine.Request{}, "true 4"},
		{"node: async files", node, `
			require('fs').promises.readFile('/etc/shadow').catch(e => console.log(e.code))`,
			confine.Request{}, "EACCES"},

		{"python: asyncio", python, `
import asyncio
async def main():
    await asyncio.sleep(0)
    print("loop")
asyncio.run(main())`, confine.Request{}, "loop"},
		{"python: asyncio subprocess", python, `
import asyncio
async def main():
    p = await asyncio.create_subprocess_exec("/bin/sh", "-c", "echo child", stdout=asyncio.subprocess.PIPE)
    print((await p.communicate())[0].decode().strip())
asyncio.run(main())`, confine.Request{Exec: []string{"/bin/sh"}}, "child"},
		{"python: subprocess that is not granted", python, `
import subprocess
try:
    subprocess.run(["/bin/ls"])
except PermissionError as e:
    print("PermissionError", e.filename)`, confine.Request{}, "PermissionError /bin/ls"},
		{"python: subprocess DEVNULL", python, `
import subprocess, sys
print(subprocess.run([sys.executable, "-c", "print(1)"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode)`,
			confine.Request{}, "0"},
		{"python: threads", python, `
import threading
t = threading.Thread(target=lambda: print("thread")); t.start(); t.join()`, confine.Request{}, "thread"},
		{"python: getpwuid", python, `
import pwd, os
print(pwd.getpwuid(os.getuid()).pw_uid == os.getuid())`, confine.Request{}, "True"},
		{"python: ssl context", python, `
import ssl
print(ssl.create_default_context().check_hostname)`, confine.Request{}, "True"},
		{"python: host look-up", python, `
import socket
try:
    print(socket.getaddrinfo("name.invalid", 80))
except OSError as e:
    print(type(e).__name__)`, confine.Request{}, "gaierror"},
		{"python: multiprocessing", python, `
import multiprocessing as m
q = m.get_context("fork").SimpleQueue()
p = m.get_context("fork").Process(target=lambda: q.put("process")); p.start(); print(q.get()); p.join()`,
			confine.Request{Write: []string{"/dev/shm"}}, "process"},
		{"python: temporary file", python, `
import tempfile
with tempfile.NamedTemporaryFile() as f:
    f.write(b"x"); print("file")`, confine.Request{Tmp: true}, "file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.runtime == node {
				c.r.Argv = []string{lookPath(t, "node"), "-e", c.program}
			} else {
				c.r.Argv = []string{systemPython(t), "-c", c.program}
			}
			e := run(t, newPlan(t, c.r), nil)
			if e.err != nil || e.code != 0 || e.signal != 0 || strings.TrimSpace(e.stdout) != c.stdout {
				t.Errorf("not %q: %v", c.stdout, e)
			}
		})
	}
}
