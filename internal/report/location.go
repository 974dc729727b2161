package report

import (
	"os"
	"path/filepath"
	"strings"
)

// NoSubject is the URI of a finding that no file stands for.
const NoSubject = "mcp-session"

// maxURI bounds a URI in bytes; a longer one ends with its last bytes.
const maxURI = 256

// sourceRoot is the folder that URIs are relative to: the root of the checkout
// that the working directory is in, since that is what a code scanner resolves
// them against, else the working directory.
func sourceRoot() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			return dir
		}
	}
}

// relativeURI returns path as a URI relative to root, never empty, with forward
// slashes and everything escaped that is not plain in a path. Of a file outside
// of root it is the base name: where it lies is nobody's business.
func relativeURI(path, root string) string {
	if path == "" {
		return NoSubject
	}
	rel := path
	if abs, err := filepath.Abs(path); err == nil {
		rel = filepath.Base(abs)
		if in, err := filepath.Rel(root, abs); err == nil && filepath.IsLocal(in) && in != "." {
			rel = in
		}
	}
	uri := escapePath(filepath.ToSlash(rel))
	if strings.Trim(uri, "/.") == "" {
		return NoSubject
	}
	if len(uri) > maxURI {
		uri = escapePath(tail(rel, maxURI/3))
	}
	return uri
}

// tail is the end of the last element of path.
func tail(path string, n int) string {
	base := filepath.Base(path)
	return base[max(0, len(base)-n):]
}

// escapePath percent-encodes all but the unreserved characters of RFC 3986 and
// the slash. A colon in a first segment would read as a scheme.
func escapePath(path string) string {
	const upper = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(path) {
		c := path[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-._~/", c) >= 0:
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(upper[c>>4])
			b.WriteByte(upper[c&15])
		}
	}
	return b.String()
}
