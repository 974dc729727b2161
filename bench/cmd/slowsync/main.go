// Command slowsync is `aegis wrap` on a disk whose sync takes a fixed time, so
// that what a sync costs does not depend on the machine.
//
//	slowsync -audit DIR -sync 4ms COMMAND [ARG...]
package main

import (
	"crypto/rand"
	"flag"
	"log"
	"os"
	"time"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/internal/interpose"
)

// sink is a record file whose Sync sleeps and does nothing else.
type sink struct {
	*aar.FileSink
	delay time.Duration
}

// Sync implements [aar.Sink].
func (s sink) Sync() error {
	time.Sleep(s.delay)
	return nil
}

func main() {
	audit := flag.String("audit", "", "directory of the record")
	delay := flag.Duration("sync", 4*time.Millisecond, "how long a sync takes")
	flag.Parse()
	file, err := aar.CreateFile(*audit)
	if err != nil {
		log.Fatal(err)
	}
	var seed [32]byte
	rand.Read(seed[:])
	w, err := aar.NewWriter(sink{file, *delay}, aar.NewSigningKey(seed))
	if err != nil {
		log.Fatal(err)
	}
	_, err = interpose.Run(interpose.Config{
		Client: os.Stdin, Answer: os.Stdout, Stderr: interpose.NewPump(os.Stderr),
		Argv: flag.Args(), Recorder: w,
	})
	if err != nil {
		log.Print(err)
	}
	if err := w.Close(aar.Close{}); err != nil {
		log.Fatal(err)
	}
}
