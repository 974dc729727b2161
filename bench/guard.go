package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// guardSizes are the results that guard inspects, in bytes of text, each with
// the bound on its p50 beside that of the floor.
var guardSizes = []struct {
	bytes int
	bound float64
}{{64, 1.35}, {4 << 10, 1.6}, {64 << 10, 4}}

// guardRun is what was measured of guard beside the floor.
type guardRun struct {
	trips  []guardTrip
	memory guardMemory
}

// guardTrip is one size in one round: p50 of a call, in microseconds.
type guardTrip struct {
	bytes        int
	floor, guard float64
}

// guardMemory is the most memory that guard held after a tenth of the calls and
// after all of them, in MiB.
type guardMemory struct {
	calls       int
	early, late float64
}

func resultOf(bytes int) request {
	return newRequest("tools/call", fmt.Sprintf(`{"name":"echo","arguments":{"fill":%d}}`, bytes))
}

// measureGuard has floor and guard take turns with results of each size, then
// sends many calls through guard.
func measureGuard(ctx context.Context, p programs, n sizes, rounds, calls int) (run guardRun, err error) {
	argv := [][]string{{p.relay, p.echo}, {p.aegis, "guard", "--quiet", "--", p.echo}}
	for round := range rounds {
		trips, err := guardRound(ctx, argv, n.calls, round%2 == 1)
		if err != nil {
			return run, err
		}
		run.trips = append(run.trips, trips...)
	}
	run.memory, err = measureGuardMemory(ctx, argv[1], calls)
	return run, err
}

func guardRound(ctx context.Context, argv [][]string, calls int, backwards bool) (trips []guardTrip, err error) {
	sessions := make([]*session, len(argv))
	defer func() {
		for _, s := range sessions {
			if s != nil {
				err = errors.Join(err, s.close())
			}
		}
	}()
	for i := range argv {
		if sessions[i], _, err = startSession(ctx, argv[i]); err != nil {
			return nil, err
		}
	}
	order := []int{0, 1}
	if backwards {
		slices.Reverse(order)
	}
	for _, size := range guardSizes {
		r := resultOf(size.bytes)
		var times [2]series
		for turn := range turns + 1 {
			for _, i := range order {
				into := &times[i]
				if turn == 0 {
					into = new(series) // warm
				}
				if err := sessions[i].sequential(r, max(1, calls/turns), into); err != nil {
					return nil, fmt.Errorf("%v: %w", argv[i], err)
				}
			}
		}
		trips = append(trips, guardTrip{size.bytes, times[0].percentile(50), times[1].percentile(50)})
	}
	return trips, nil
}

func measureGuardMemory(ctx context.Context, argv []string, calls int) (m guardMemory, err error) {
	m.calls = calls
	s, _, err := startSession(ctx, argv)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	r := resultOf(64)
	for _, part := range []struct {
		calls int
		peak  *float64
	}{{calls / 10, &m.early}, {calls - calls/10, &m.late}} {
		if _, err := s.inFlight(r, max(part.calls, 1), window); err != nil {
			return m, err
		}
		_, *part.peak = memory(s.cmd.Process.Pid)
	}
	return m, nil
}

// aims judge guard beside the floor.
func (run guardRun) aims() (aims []aim) {
	for _, size := range guardSizes {
		var s series
		for _, t := range run.trips {
			if t.bytes == size.bytes {
				s = append(s, t.guard/t.floor)
			}
		}
		aims = append(aims, newAim(fmt.Sprintf("guard: p50 / floor, results of %d bytes", size.bytes), s, "≤", size.bound))
	}
	m := run.memory
	if m.early > 0 {
		aims = append(aims, newAim(fmt.Sprintf("guard: peak memory after %d calls / after a tenth of them", m.calls), series{m.late / m.early}, "≤", 1.25))
	}
	return aims
}

// figures are the times themselves.
func (run guardRun) figures() (all []named) {
	for _, size := range guardSizes {
		var floor, guard series
		for _, t := range run.trips {
			if t.bytes == size.bytes {
				floor, guard = append(floor, t.floor), append(guard, t.guard)
			}
		}
		all = append(all,
			named{fmt.Sprintf("floor, call p50, results of %d bytes", size.bytes), "µs", floor.summary()},
			named{fmt.Sprintf("guard, call p50, results of %d bytes", size.bytes), "µs", guard.summary()})
	}
	return append(all, named{"guard, peak memory", "MiB", series{run.memory.late}.summary()})
}
