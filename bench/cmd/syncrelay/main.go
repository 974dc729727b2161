// Command syncrelay is a relay that does the least that recording costs, and
// looks at nothing: before it passes on what the client sent it appends 300
// bytes to a file in the directory given first and syncs it; before it passes on
// what the server answered it makes one signature. It shows what a sync and a
// signature cost where they happen, in the middle of a round trip: processes
// that wait for a sync wake up slower than those that are never idle.
//
//	syncrelay DIR COMMAND [ARG...]
package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"io"
	"log"
	"os"
	"os/exec"

	"github.com/aegis-aar/aegis/aar"
)

func main() {
	sink, err := aar.CreateFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		log.Fatal(err)
	}
	server := exec.Command(os.Args[2], os.Args[3:]...)
	server.Stderr = os.Stderr
	in, err := server.StdinPipe()
	if err != nil {
		log.Fatal(err)
	}
	out, err := server.StdoutPipe()
	if err != nil {
		log.Fatal(err)
	}
	if err := server.Start(); err != nil {
		log.Fatal(err)
	}
	line := append(bytes.Repeat([]byte("x"), 299), '\n')
	go pass(in, os.Stdin, func() error {
		if err := sink.Append(line); err != nil {
			return err
		}
		return sink.Sync()
	})
	message := make([]byte, 900)
	pass(os.Stdout, out, func() error {
		ed25519.Sign(key, message)
		return nil
	})
	server.Wait()
}

// pass copies, with work before each write, and closes to at the end.
func pass(to io.WriteCloser, from io.Reader, work func() error) {
	defer to.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if err := work(); err != nil {
				log.Fatal(err)
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
