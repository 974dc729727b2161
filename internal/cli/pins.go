package cli

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/aegis-aar/aegis/inspect"
	"github.com/aegis-aar/aegis/internal/guard"
	"github.com/aegis-aar/aegis/lock"
	"github.com/aegis-aar/aegis/policy"
)

// pins is the lock that a session is held to. It implements [guard.Surface].
type pins struct {
	lock *lock.Lock
	gate *lock.Gate
}

func loadPins(path string) (*pins, error) {
	l, err := lock.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w; make it with `aegis pin --out %s -- COMMAND`", err, path)
	}
	if err != nil {
		return nil, err
	}
	return &pins{l, lock.NewGate(l)}, nil
}

// Declaration implements [guard.Surface].
func (p *pins) Declaration(tool string) inspect.Declaration { return p.gate.Declaration(tool) }

// Page implements [guard.Surface].
func (p *pins) Page(result []byte, cursor string) ([]guard.Drift, error) {
	found, err := p.gate.Page(result, cursor)
	if err != nil {
		return nil, err
	}
	drifts := make([]guard.Drift, len(found))
	for i, d := range found {
		drifts[i] = guard.Drift{Rule: d.Rule, Class: d.Class, Severity: d.Severity, Target: d.Target, Message: d.Message}
	}
	return drifts, nil
}

// surface is what a policy needs to know of the pinned tools.
func (p *pins) surface() *policy.Surface { return policy.NewSurface(toolSurfaces(p.lock)) }

func toolSurfaces(l *lock.Lock) []policy.ToolSurface {
	tools := make([]policy.ToolSurface, 0, len(l.Tools))
	for _, t := range l.Tools {
		s := policy.ToolSurface{Name: t.Name, Capabilities: t.Capabilities, InputSchemaHash: t.InputSchemaHash}
		for _, p := range t.Skeleton.Props {
			s.Properties = append(s.Properties, policy.Property{Path: p.Path, Types: p.Type})
		}
		tools = append(tools, s)
	}
	return tools
}
