//go:build linux

package confine

import (
	"strings"
	"testing"
)

// A package that node may not read is one that it does not find. What it is said to
// be is looked for: a hint names only where a link leads that is there.
func TestLinkedPackages(t *testing.T) {
	dir := realDir(t)
	write(t, dir+"/linked/index.js", "", 0o600)
	write(t, dir+"/work/node_modules/own/index.js", "", 0o600)
	link(t, "../../linked", dir+"/work/node_modules/dep")
	link(t, "../../../linked", dir+"/work/node_modules/@scope/dep")
	link(t, "own", dir+"/work/node_modules/alias")
	p := &Plan{dir: dir, Grants: []Grant{{Path: dir + "/work", Tree: true, Rights: Read}}}
	grant := "--allow-read " + dir + "/linked grants it"
	for stderr, want := range map[string]string{
		"Error: Cannot find package '" + dir + "/work/node_modules/dep/index.js' imported from x":        grant,
		"Error [ERR_MODULE_NOT_FOUND]: Cannot find package '" + dir + "/work/node_modules/dep' imported": grant,
		"Error: Cannot find module '" + dir + "/work/node_modules/@scope/dep/absent.js'":                 grant,
		"Error: Cannot find module '" + dir + "/work/node_modules/own/absent.js'":                        "",
		"Error: Cannot find module '" + dir + "/work/node_modules/alias/absent.js'":                      "",
		"Error: Cannot find module '/etc/absent.js'":                                                     "",
		"Error: Cannot find module '/node_modules/../etc/passwd'":                                        "",
		"Error: Cannot find module './absent'":                                                           "",
		"Error: Cannot find module 'dep'\nRequire stack:":                                                "if dep is a link",
	} {
		end := p.Ended(1, 0, []byte(stderr))
		if end.Cause != CauseNone || (want == "") != (end.Hint == "") || !strings.Contains(end.Hint, want) {
			t.Errorf("%q: %+v", stderr, end)
		}
	}
}
