//go:build !linux

package derive

// magicLinks: other systems have no procfs, or none with such links.
func magicLinks(string) bool { return false }
