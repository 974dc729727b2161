package confine

import (
	"fmt"

	"github.com/go-json-experiment/json"
)

// HelperCommand is the hidden subcommand under which the helper is started.
const HelperCommand = "__confine-exec"

// profile is what the helper is told: the part of a Plan that it enforces.
type profile struct {
	Program    string  `json:"program"`
	Grants     []Grant `json:"grants"`
	Kill       bool    `json:"kill"`
	BestEffort bool    `json:"best_effort"`
	ReportFD   int     `json:"report_fd"`
}

// maxProfile is what Linux takes in one environment variable (MAX_ARG_STRLEN,
// 32 pages), less a page for its name.
const maxProfile = 31 * 4096

func (p *profile) encode() (string, error) {
	slim := *p
	slim.Grants = make([]Grant, len(p.Grants))
	for i, g := range p.Grants {
		slim.Grants[i] = Grant{Path: g.Path, Tree: g.Tree, Rights: g.Rights}
	}
	text, err := json.Marshal(&slim)
	if err != nil {
		return "", fmt.Errorf("confinement profile: %w", err)
	}
	if len(text) > maxProfile {
		return "", fmt.Errorf("confinement profile: %d grants are more than fit (%d bytes, %d at most); grant directories in place of single files", len(p.Grants), len(text), maxProfile)
	}
	return string(text), nil
}

func decodeProfile(text string) (*profile, error) {
	if text == "" {
		return nil, fmt.Errorf("%s is unset", profileName)
	}
	p := &profile{}
	if err := json.Unmarshal([]byte(text), p, json.RejectUnknownMembers(true)); err != nil {
		return nil, err
	}
	return p, nil
}

// message is one line on the report pipe. The first says what was enforced; a
// second says that the server was not started, and why.
type message struct {
	Facts   *facts       `json:"facts,omitzero"`
	Refused []string     `json:"refused,omitempty"` // controls that are missing, fail-closed
	Failed  *execFailure `json:"failed,omitzero"`   // execve(2) failed
}

// execFailure is a failed execve(2).
type execFailure struct {
	Path  string `json:"path"`
	Errno int    `json:"errno"`
}

// facts are what the kernel answered, one step after the other. An empty fault
// means that the step was done.
type facts struct {
	Landlock    LandlockFacts `json:"landlock"`
	Seccomp     string        `json:"seccomp"`      // fault
	Privileges  string        `json:"privileges"`   // fault of PR_SET_NO_NEW_PRIVS
	Descriptors string        `json:"descriptors"`  // fault of close_range(2)
	Capability  string        `json:"capabilities"` // fault
	Signals     string        `json:"dispositions"` // fault of the reset of signal dispositions
}

// LandlockFacts are what Landlock offered and what of it is in force.
type LandlockFacts struct {
	ABI    int `json:"abi"`    // 0: none
	Errata int `json:"errata"` // bits, 0 where the kernel cannot tell
	// The rights that are handled, by Landlock's own bits: what no rule grants of
	// them is denied.
	HandledFS  uint64 `json:"handled_fs"`
	HandledNet uint64 `json:"handled_net"`
	Scoped     uint64 `json:"scoped"`
	Rules      int    `json:"rules"`
	// Missing are granted paths that could not be opened when it came to it.
	Missing []string `json:"missing,omitempty"`
	Fault   string   `json:"fault,omitzero"`
}
