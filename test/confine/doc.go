// Package confine tries to get out of confinement. Its tests start programs
// under a plan, real servers among them, and hold each denial, and each limit,
// against the kernel they run on. docs/confine.md lists both by the same names.
package confine
