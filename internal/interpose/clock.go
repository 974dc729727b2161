package interpose

import "time"

// clock is the session's monotonic clock. Its zero is no valid time.
type clock struct{ start time.Time }

func newClock() clock { return clock{time.Now()} }

func (c clock) now() int64 { return int64(time.Since(c.start)) + 1 }

// since is the time that has passed since t.
func (c clock) since(t int64) time.Duration { return time.Duration(c.now() - t) }
