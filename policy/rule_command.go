package policy

import (
	"fmt"
	"slices"

	"github.com/aegis-aar/aegis/derive"
)

// commandRule is shell_exec. Nothing runs unless allow is true; then the first
// word of the command line must be listed, if there is a list.
type commandRule struct {
	allow    bool
	commands []string
	listed   bool // allow_commands
}

func newCommandRule(m *section) *commandRule {
	list, listed := m.values["allow_commands"]
	return &commandRule{allow: m.values["allow"].flag, commands: list.texts(), listed: listed}
}

func (r *commandRule) judge(p *derive.Param) finding {
	c := &p.Command
	switch {
	case !r.allow:
		return denied(CodeShellDeny, "allow", "no command may run (allow: false)")
	case c.Metachar:
		if c.Found != "" {
			return denied(CodeShellMetachar, "", "the command line does more than run one command: "+c.Found)
		}
		return denied(CodeShellMetachar, "", "the command line does more than run one command")
	case p.Fault != derive.None:
		return denied(CodeArgAmbiguous, "", "the command line is not understood: "+p.Why)
	case !r.listed || slices.Contains(r.commands, c.Words[0]):
		return allowed()
	}
	return denied(CodeShellDeny, "allow_commands", fmt.Sprintf("command %s is not in allow_commands", shown(c.Words[0])))
}
