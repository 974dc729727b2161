package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// slowSync is the sync of the sink that does not depend on the machine.
const slowSync = 4 * time.Millisecond

// programs are the binaries that are measured.
type programs struct{ aegis, echo, relay, syncrelay, slowsync string }

// build compiles the binaries into dir. An aegis that was given is taken as it is.
func build(ctx context.Context, dir, aegis string) (programs, error) {
	const module = "github.com/aegis-aar/aegis/"
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", dir+string(filepath.Separator),
		module+"bench/cmd/...", module+"cmd/aegis")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return programs{}, fmt.Errorf("go build: %w\n%s", err, out)
	}
	path := func(name string) string {
		p := filepath.Join(dir, name)
		if _, err := os.Stat(p + ".exe"); err == nil {
			return p + ".exe"
		}
		return p
	}
	p := programs{path("aegis"), path("echo"), path("relay"), path("syncrelay"), path("slowsync")}
	if aegis != "" {
		p.aegis = aegis
	}
	return p, nil
}

// target is one way from the client to the server.
type target struct {
	name string
	argv []string
	// probe makes the probe for a sync where the record is; nil without a record.
	probe       func() (probe, error)
	disk, tmpfs bool // where the record is, if a sync costs what it costs there
}

// The targets that others are compared with.
const (
	direct    = "direct"
	floor     = "floor"
	syncFloor = "floor that syncs and signs"
	wrapDisk  = "wrap, record on disk"
	wrapTmpfs = "wrap, record on tmpfs"
	wrapSlow  = "wrap, 4 ms sync"
)

// targets lists what can be measured here. Records are made in the directory
// disk and, if it is not empty, in the tmpfs.
func targets(p programs, key, disk, tmpfs, against string) []target {
	wrap := func(name, aegis, dir string) target {
		return target{
			name: name,
			disk: dir == disk, tmpfs: dir == tmpfs,
			argv:  []string{aegis, "wrap", "--audit", dir + string(filepath.Separator), "--signing-key", key, "--", p.echo},
			probe: func() (probe, error) { return newSyncProbe(dir) },
		}
	}
	list := []target{
		{name: direct, argv: []string{p.echo}},
		{name: floor, argv: []string{p.relay, p.echo}},
		{name: syncFloor, argv: []string{p.syncrelay, disk, p.echo}},
		wrap(wrapDisk, p.aegis, disk),
	}
	if tmpfs != "" {
		list = append(list, wrap(wrapTmpfs, p.aegis, tmpfs))
	}
	list = append(list, target{
		name:  wrapSlow,
		argv:  []string{p.slowsync, "-audit", disk, "-sync", slowSync.String(), p.echo},
		probe: newSleepProbe,
	})
	if against != "" {
		list = append(list, wrap("against, record on disk", against, disk))
		if tmpfs != "" {
			list = append(list, wrap("against, record on tmpfs", against, tmpfs))
		}
	}
	return list
}
