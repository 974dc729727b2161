// Command relay is the floor of the benchmark: the least that a process between
// a client and a server can do in the same runtime. It starts the server given
// as its arguments and copies each way, without looking at a byte.
package main

import (
	"io"
	"log"
	"os"
	"os/exec"
)

func main() {
	server := exec.Command(os.Args[1], os.Args[2:]...)
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
	go func() {
		io.Copy(in, os.Stdin)
		in.Close()
	}()
	io.Copy(os.Stdout, out)
	server.Wait()
}
