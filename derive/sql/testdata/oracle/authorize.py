"""Reads a JSON string a line, a query, and answers a JSON object a line.

The query is prepared behind an EXPLAIN of ours, unless it begins with one, so
that nothing in it runs. The answer holds the error, if any, whether there is
more than one statement, and every action asked of the authorizer
(https://www.sqlite.org/c3ref/c_alter_table.html), which allows reads only.
"""

import json
import re
import sqlite3
import sys

SELECT, READ, PRAGMA, FUNCTION, RECURSIVE = 21, 20, 19, 31, 33
BLANK = r"(?is)(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*"
EXPLAIN, VALUES = re.compile(BLANK + r"explain\b"), re.compile(BLANK + r"values\b")

db = sqlite3.connect(":memory:", isolation_level=None)
db.executescript(
    """
    CREATE TABLE notes(id INTEGER PRIMARY KEY, a, b, c, deleted_at, created_at, "update", "delete", "insert");
    CREATE TABLE users(id INTEGER PRIMARY KEY, a, b, name UNIQUE);
    CREATE VIEW recent AS SELECT a, b FROM notes;
    CREATE INDEX by_a ON notes(a);
    """
)
# Their first use declares a table, which is asked for as an update of the schema.
for table in ("pragma_table_info('notes')", "json_each('[1]')"):
    db.execute("SELECT * FROM " + table).close()
actions = []


def authorize(action, first, second, database, inside):
    if not (action == FUNCTION and first == "like"):
        actions.append([action, first, second])
    if action in (SELECT, READ, FUNCTION, RECURSIVE):
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


db.set_authorizer(authorize)
for line in sys.stdin:
    text = json.loads(line)
    actions.clear()
    explained = bool(EXPLAIN.match(text))
    error = ""
    try:
        db.execute(text if explained else "EXPLAIN " + text).close()
    except (sqlite3.Error, sqlite3.Warning, ValueError) as e:
        error = str(e)
    answer = {
        "error": error,
        "explained": explained,
        "values": bool(VALUES.match(text)),
        "many": "one statement at a time" in error,
        "actions": actions,
    }
    print(json.dumps(answer), flush=True)
