package main

// aim is a figure with the bound it should keep.
type aim struct {
	Name string `json:"name"`
	summary
	Sign    string  `json:"sign"` // ≤ or ≥
	Bound   float64 `json:"bound"`
	Verdict string  `json:"verdict"`
}

// newAim judges the median.
func newAim(name string, s series, sign string, bound float64) aim {
	a := aim{Name: name, summary: s.summary(), Sign: sign, Bound: bound, Verdict: "missed"}
	switch {
	case a.summary == (summary{}):
		a.Verdict = "not measured"
	case sign == "≤" && a.Median <= bound, sign == "≥" && a.Median >= bound:
		a.Verdict = "met"
	}
	return a
}

// relayAims judge the targets against each other, round by round.
func relayAims(list []target, rounds []map[string]load) []aim {
	pairs := func(name, other string, figure func(a, b load) float64) series {
		return over(rounds, func(l map[string]load) float64 { return figure(l[name], l[other]) })
	}
	p50 := func(s series) float64 { return s.percentile(50) }
	var aims []aim
	for _, t := range list {
		if t.probe == nil {
			continue
		}
		add := func(what string, s series, sign string, bound float64) {
			aims = append(aims, newAim(t.name+": "+what, s, sign, bound))
		}
		add("ping p50 / floor", pairs(t.name, floor, func(a, b load) float64 { return p50(a.ping) / p50(b.ping) }), "≤", 1.3)
		add("call p50 / (floor + sync + signature)", pairs(t.name, floor, func(a, b load) float64 {
			return p50(a.call) / (p50(b.call) + p50(a.sync) + p50(a.sign))
		}), "≤", 1.25)
		if t.disk {
			add("call p50 / "+syncFloor, pairs(t.name, syncFloor, func(a, b load) float64 { return p50(a.call) / p50(b.call) }), "≤", 1.25)
		}
		if !t.tmpfs {
			add("calls a sync time / 64", pairs(t.name, floor, func(a, _ load) float64 {
				return a.callRate * p50(a.sync) / 1e6 / window
			}), "≥", 0.4)
		}
		if t.name == wrapSlow {
			continue // what follows is of the aegis binary
		}
		add("start-up over direct, ms", pairs(t.name, direct, func(a, b load) float64 { return (p50(a.startup) - p50(b.startup)) / 1e3 }), "≤", 10)
		add("idle memory, MiB", pairs(t.name, floor, func(a, _ load) float64 { return a.idle }), "≤", 20)
	}
	return aims
}
