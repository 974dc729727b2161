// Command bench measures what aegis costs beside what cannot be avoided: a
// relay that only copies, a sync, a signature, a bare loop of ed25519.Verify.
//
//	go run ./bench [--full] [--json]
//
// Absolute figures say more about the machine than about aegis. What counts are
// the ratios, each taken within one round, and their spread over nine rounds.
// docs/benchmarks.md explains the figures. A missed aim is shown, and no error.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
)

// options are what the command line says.
type options struct {
	dir, aegis, against string
	rounds              int
	sizes               sizes
	verify              int64 // bytes of the file that is verified
	many                int   // calls through guard, whose memory is watched
	json                bool
}

// pairBytes is the size of the record that verify is timed on, at most.
const pairBytes = 2 << 20

func main() {
	var o options
	flag.StringVar(&o.dir, "dir", os.TempDir(), "keep records in `DIR`, which should lie on a real disk")
	flag.StringVar(&o.aegis, "aegis", "", "measure the aegis at `PATH`, not the one built from this tree")
	flag.StringVar(&o.against, "against", "", "measure the aegis at `PATH` too, in the same rounds")
	flag.IntVar(&o.rounds, "rounds", 9, "`N` interleaved rounds")
	flag.IntVar(&o.sizes.starts, "starts", 5, "start each target `N` times in a round")
	flag.IntVar(&o.sizes.pings, "pings", 1000, "`N` sequential pings to each target in a round")
	flag.IntVar(&o.sizes.calls, "calls", 200, "`N` sequential calls")
	flag.IntVar(&o.sizes.burst, "burst", 2000, "`N` pings and as many calls with 64 in flight")
	flag.IntVar(&o.many, "many", 200_000, "watch the memory of guard over `N` calls")
	full := flag.Bool("full", false, "verify a file of 1 GiB, not 64 MiB; a million calls through guard")
	flag.BoolVar(&o.json, "json", false, "print JSON")
	flag.Parse()
	if n := o.sizes; o.rounds < 1 || n.starts < 1 || min(n.pings, n.calls) < turns || n.burst < 1 || o.many < 10 {
		fmt.Fprintf(os.Stderr, "bench: every N is at least 1, pings and calls at least %d, many at least 10\n", turns)
		os.Exit(2)
	}
	o.verify = 64 << 20
	if *full {
		o.verify, o.many = 1<<30, 1_000_000
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	r, err := run(ctx, o)
	if err == nil && o.json {
		err = r.writeJSON(os.Stdout)
	} else if err == nil {
		err = r.writeText(os.Stdout)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

// run measures everything. It leaves nothing behind.
func run(ctx context.Context, o options) (_ *report, err error) {
	disk, err := os.MkdirTemp(o.dir, "aegis-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(disk)) }()
	r := &report{Rounds: o.rounds, Machine: machine{runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), runtime.Version()}}
	if isTmpfs(disk) {
		r.Notes = append(r.Notes, "The directory of the records is a tmpfs: give --dir a directory on a disk.")
	}
	tmpfs := ""
	if isTmpfs("/dev/shm") {
		if tmpfs, err = os.MkdirTemp("/dev/shm", "aegis-bench-"); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(tmpfs)) }()
	} else {
		r.Notes = append(r.Notes, "/dev/shm is no tmpfs: the targets on tmpfs are left out.")
	}
	say := func(format string, a ...any) { fmt.Fprintf(os.Stderr, format+"\n", a...) }

	say("building")
	p, err := build(ctx, disk, o.aegis)
	if err != nil {
		return nil, err
	}
	key := filepath.Join(disk, "signing.key")
	if out, err := exec.CommandContext(ctx, p.aegis, "keygen", "--out", key).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("aegis keygen: %w\n%s", err, out)
	}
	list := targets(p, key, disk, tmpfs, o.against)
	rounds, err := measureAll(ctx, list, o.sizes, o.rounds, func(i int) { say("relay: round %d of %d", i, o.rounds) })
	if err != nil {
		return nil, err
	}
	r.Targets, r.Aims = reportTargets(list, rounds), relayAims(list, rounds)

	say("guard: %d rounds, %d calls", o.rounds, o.many)
	guard, err := measureGuard(ctx, p, o.sizes, o.rounds, o.many)
	if err != nil {
		return nil, err
	}
	r.Guard, r.Aims = guard.figures(), append(r.Aims, guard.aims()...)

	say("verify: %d pairs", o.rounds)
	pairs, err := verifyPairs(ctx, o.rounds, min(o.verify, pairBytes))
	if err != nil {
		return nil, err
	}
	say("verify: a file of %d MiB", o.verify>>20)
	if r.File, err = verifyFile(ctx, p.aegis, filepath.Join(disk, "big.aarl"), o.verify); err != nil {
		return nil, err
	}
	r.addVerify(pairs)
	return r, nil
}
