package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// window is how many requests are in flight at once in the loads that have
// more than one.
const window = 64

// turns is how many slices the load of a round is cut into: the targets take
// turns, so that what disturbs the machine for longer than some milliseconds
// disturbs all of them alike.
const turns = 20

// sizes say how often a round starts each target, and how many requests it sends.
type sizes struct{ starts, pings, calls, burst int }

// load is what was measured of one target in one round. Times are in
// microseconds, rates in answers a second, memory in MiB.
type load struct {
	startup    series // spawn to first answer
	ping, call series
	pingRate   float64 // with a full window
	callRate   float64
	idle, peak float64
	sync, sign series // what a sync and a signature cost; empty where there is no such ratio
}

// contender is a target at work.
type contender struct {
	target
	*session
	load       *load
	sync, sign probe
}

func enter(ctx context.Context, t target) (c contender, err error) {
	c = contender{target: t, load: &load{}}
	if t.probe != nil {
		c.sync, err = t.probe()
		if err != nil {
			return c, err
		}
		if c.sign, err = newSignProbe(); err != nil {
			return c, err
		}
	}
	s, startup, err := startSession(ctx, t.argv)
	if err != nil {
		return c, err
	}
	c.session = s
	c.load.startup = append(c.load.startup, us(startup))
	c.load.idle, _ = memory(s.cmd.Process.Pid)
	return c, nil
}

// leave ends the session. The most memory it held is read before it is gone.
func (c contender) leave() error {
	var errs []error
	if c.sync.end != nil {
		errs = append(errs, c.sync.end())
	}
	if c.session != nil {
		_, c.load.peak = memory(c.session.cmd.Process.Pid)
		errs = append(errs, c.close())
	}
	return errors.Join(errs...)
}

// startTurn starts the target once more, and ends it.
func (c contender) startTurn(ctx context.Context) error {
	s, startup, err := startSession(ctx, c.argv)
	if err != nil {
		return err
	}
	c.load.startup = append(c.load.startup, us(startup))
	return s.close()
}

// pingTurn and callTurn are one slice of the sequential load.
func (c contender) pingTurn(n sizes) error {
	return c.sequential(ping, n.pings/turns, &c.load.ping)
}

func (c contender) callTurn(n sizes) error {
	if c.probe != nil {
		if err := errors.Join(c.sign.times(n.calls/turns, &c.load.sign), c.sync.times(n.calls/turns, &c.load.sync)); err != nil {
			return err
		}
	}
	return c.sequential(call, n.calls/turns, &c.load.call)
}

// pingBurst and callBurst are the load with a full window.
func (c contender) pingBurst(n sizes) (err error) {
	c.load.pingRate, err = c.inFlight(ping, n.burst, window)
	return err
}

func (c contender) callBurst(n sizes) (err error) {
	c.load.callRate, err = c.inFlight(call, n.burst, window)
	return err
}

// measureRound puts the whole load on every target.
func measureRound(ctx context.Context, list []target, n sizes) (_ map[string]load, err error) {
	loads := map[string]load{}
	var all []contender
	defer func() {
		for _, c := range all {
			err = errors.Join(err, c.leave())
			loads[c.name] = *c.load
		}
	}()
	for _, t := range list {
		c, err := enter(ctx, t)
		all = append(all, c)
		if err != nil {
			return loads, fmt.Errorf("%s: %w", t.name, err)
		}
	}
	for _, c := range all { // warm
		if err := errors.Join(c.sequential(ping, 50, new(series)), c.sequential(call, 10, new(series))); err != nil {
			return loads, fmt.Errorf("%s: %w", c.name, err)
		}
	}
	inTurn := func(turns int, do func(contender, sizes) error) error {
		for range turns {
			for _, c := range all {
				if err := do(c, n); err != nil {
					return fmt.Errorf("%s: %w", c.name, err)
				}
			}
		}
		return nil
	}
	start := func(c contender, _ sizes) error { return c.startTurn(ctx) }
	return loads, errors.Join(
		inTurn(n.starts-1, start),
		inTurn(turns, contender.pingTurn), inTurn(1, contender.pingBurst),
		inTurn(turns, contender.callTurn), inTurn(1, contender.callBurst),
	)
}

// measureAll measures every target once a round. Every second round goes
// backwards.
func measureAll(ctx context.Context, list []target, n sizes, rounds int, progress func(round int)) ([]map[string]load, error) {
	list = slices.Clone(list)
	var all []map[string]load
	for i := range rounds {
		progress(i + 1)
		loads, err := measureRound(ctx, list, n)
		if err != nil {
			return nil, err
		}
		all = append(all, loads)
		slices.Reverse(list)
	}
	return all, nil
}
