package confine

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// inherited are the names a confined server takes over when they are set: where
// programs and the home directory are, who and in what language the user is. No
// name in it customarily holds a secret.
var inherited = []string{"HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TERM", "TZ", "USER"}

// inheritedPrefix covers the categories of the locale, LC_ALL and the like.
const inheritedPrefix = "LC_"

// tmpNames are the names that programs look for a temporary directory in.
var tmpNames = [...]string{"TEMP", "TMP", "TMPDIR"}

// profileName carries the profile to the helper, which removes it before the
// server is there to see it.
const profileName = "AEGIS_CONFINE_PROFILE"

// environ is the environment the server will have.
type environ struct {
	list []string // NAME=VALUE
}

// get is a value, "" if the name is not set.
func (e environ) get(name string) string {
	for _, entry := range e.list {
		if n, value, _ := strings.Cut(entry, "="); n == name {
			return value
		}
	}
	return ""
}

// environment takes the inherited names out of from and adds what was asked
// for. A later entry of a name replaces an earlier one.
func environment(from, add []string) (environ, error) {
	values := map[string]string{}
	for _, entry := range from {
		if name, value, ok := strings.Cut(entry, "="); ok {
			values[name] = value
		}
	}
	var e environ
	set := func(name, value string) {
		e.list = slices.DeleteFunc(e.list, func(entry string) bool { return strings.HasPrefix(entry, name+"=") })
		e.list = append(e.list, name+"="+value)
	}
	for name, value := range values {
		if slices.Contains(inherited, name) || strings.HasPrefix(name, inheritedPrefix) && utf8.ValidString(name) {
			set(name, value)
		}
	}
	slices.Sort(e.list)
	for _, entry := range add {
		name, value, given := strings.Cut(entry, "=")
		switch {
		case name == "" || strings.ContainsRune(entry, 0) || !utf8.ValidString(name):
			return environ{}, usagef("--env needs NAME or NAME=VALUE")
		case name == profileName:
			return environ{}, usagef("--env %s: this name is not for the server", name)
		case !given:
			var ok bool
			if value, ok = values[name]; !ok {
				return environ{}, usagef("--env %s: it is not set; give --env %s=VALUE or leave it out", name, name)
			}
		}
		set(name, value)
	}
	return e, nil
}
