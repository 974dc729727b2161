//go:build linux

package confine

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Variables that make the test binary a probe.
const (
	probeName = "AEGIS_PROBE"      // which one
	probeRoot = "AEGIS_PROBE_ROOT" // the scratch tree: ro and rw are granted, out is not
	probePeer = "AEGIS_PROBE_PEER" // the pid of the process that started it
)

// A probe tries one thing from inside.
type probe struct {
	name string
	// free is what it meets without confinement, so that a denial is known to
	// be one: `ok`, the name of an errno or a signal, "" if that is not tried,
	// for why.
	free string
	why  string
	// held is what it meets when confined: `ok` for what is not blocked.
	held string
	// heldAsRoot is in place of held where that differs.
	heldAsRoot string
	// wide runs it with /proc, /etc and the system's programs granted.
	wide bool
	// abi and erratum are what the denial needs of Landlock.
	abi, erratum int
	// root says that without root it meets a denial anyway.
	root bool
	try  func(root string) error
}

// runProbe runs the probe that the environment names, and exits; it returns if
// there is none. What it met is on stdout.
func runProbe() {
	name := os.Getenv(probeName)
	if name == "" {
		return
	}
	if name == ran {
		fmt.Println("ok")
		os.Exit(0)
	}
	for _, p := range probes() {
		if p.name == name {
			fmt.Println(met(p.try(os.Getenv(probeRoot))))
			os.Exit(0)
		}
	}
	fmt.Println("no such probe")
	os.Exit(1)
}

// ran is the name under which a program that a probe executed says that it runs.
const ran = "ran"

// met spells an error: the name of its errno where it has one.
func met(err error) string {
	if err == nil {
		return "ok"
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok && errno != 0 {
		return unix.ErrnoName(errno)
	}
	return strings.ReplaceAll(err.Error(), "\n", " ")
}

func probes() []probe {
	var all []probe
	for _, group := range [][]probe{fileProbes, limitProbes, networkProbes, processProbes} {
		all = append(all, group...)
	}
	return append(all, machineProbes...)
}

// call is a system call that answers with an errno only.
func call(number uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	if _, _, errno := unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
		return errno
	}
	return nil
}
