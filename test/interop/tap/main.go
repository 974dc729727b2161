// Command tap runs a program and copies its stdin and stdout, keeping what
// passed: `tap PREFIX PROGRAM [ARG...]` writes the bytes of the two directions
// to PREFIX.up and PREFIX.down, each before it passes them on.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: tap PREFIX PROGRAM [ARG...]")
		os.Exit(2)
	}
	signal.Ignore(syscall.SIGPIPE) // a reader that went away is an error of the write
	code, err := run(os.Args[1], os.Args[2:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "tap:", err)
		os.Exit(2)
	}
	os.Exit(code)
}

func run(prefix string, argv []string) (int, error) {
	up, err := os.Create(prefix + ".up")
	if err != nil {
		return 0, err
	}
	down, err := os.Create(prefix + ".down")
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	go func() {
		// Nobody waits for it: the client may keep its end open.
		pass(stdin, os.Stdin, up)
		stdin.Close()
	}()
	if err := pass(os.Stdout, stdout, down); err != nil {
		return 0, err
	}
	err = cmd.Wait()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		return 0, err
	}
	return cmd.ProcessState.ExitCode(), nil
}

// pass copies until the source ends. A destination that reads no more does not
// stop the log: it holds all that the source wrote.
func pass(to io.Writer, from io.Reader, log io.Writer) error {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if _, err := log.Write(buf[:n]); err != nil {
				return err
			}
			if to != nil {
				if _, err := to.Write(buf[:n]); err != nil {
					to = nil
				}
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
