package aar

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Status is the tag of one of the three stations of an [Outcome].
type Status string

// Statuses of the policy station.
const (
	Allowed         Status = "allowed"
	Denied          Status = "denied" // of the capability station too
	RateLimited     Status = "rate_limited"
	PendingApproval Status = "pending_approval"
)

// Granted is the other status of the capability station.
const Granted Status = "granted"

// Statuses of the execution station.
const (
	Success          Status = "success"
	Trap             Status = "trap"
	ResourceExceeded Status = "resource_exceeded"
	HostDenied       Status = "host_denied"
)

// Policy is the verdict of the Policy Set.
type Policy struct {
	Status     Status
	Reason     string // of Denied and RateLimited
	ApprovalID string // of PendingApproval
}

// Capability is the verdict of the capability station.
type Capability struct {
	Status           Status
	Grant            Grant  // of Granted
	Reason           string // of Denied
	DeniedCapability string // of Denied, optional: the axis that was refused
}

// Execution says how the Call ended.
type Execution struct {
	Status  Status
	Message string // of Trap
	Kind    string // of ResourceExceeded: memory, wall_clock, output or fuel
	Reason  string // of HostDenied
}

// Verdict is what a human decided about a parked Call. An approval without its
// scope cannot be expressed: it would be a blank check in the evidence.
type Verdict struct {
	Approved bool
	Scope    Scope  // of an approval
	Reason   string // of a denial
}

// Each station is an object tagged by `status` whose other members depend on
// the tag; a member of the tag is present even when empty. These are the shapes.
type (
	statusOnly struct {
		Status Status `json:"status"`
	}
	statusReason struct {
		Reason string `json:"reason"`
		Status Status `json:"status"`
	}
	statusApproval struct {
		ApprovalID string `json:"approval_id"`
		Status     Status `json:"status"`
	}
	statusGrant struct {
		Grant  Grant  `json:"grant"`
		Status Status `json:"status"`
	}
	statusDenied struct {
		DeniedCapability string `json:"denied_capability,omitzero"`
		Reason           string `json:"reason"`
		Status           Status `json:"status"`
	}
	statusMessage struct {
		Message string `json:"message"`
		Status  Status `json:"status"`
	}
	statusKind struct {
		Kind   string `json:"kind"`
		Status Status `json:"status"`
	}
	verdictApproved struct {
		Scope   Scope  `json:"scope"`
		Verdict string `json:"verdict"`
	}
	verdictDenied struct {
		Reason  string `json:"reason"`
		Verdict string `json:"verdict"`
	}
)

// MarshalJSONTo implements [json.MarshalerTo].
func (p Policy) MarshalJSONTo(enc *jsontext.Encoder) error {
	switch p.Status {
	case Allowed:
		return json.MarshalEncode(enc, statusOnly{p.Status})
	case Denied, RateLimited:
		return json.MarshalEncode(enc, statusReason{p.Reason, p.Status})
	case PendingApproval:
		return json.MarshalEncode(enc, statusApproval{p.ApprovalID, p.Status})
	}
	return fmt.Errorf("policy has no status %q", p.Status)
}

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (p *Policy) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	m, err := readTagged(dec, "status")
	if err != nil {
		return err
	}
	*p = Policy{Status: Status(*m.tag)}
	switch p.Status {
	case Allowed:
	case Denied, RateLimited:
		return m.want("reason", &p.Reason)
	case PendingApproval:
		return m.want("approval_id", &p.ApprovalID)
	default:
		return fmt.Errorf("policy has no status %q", p.Status)
	}
	return nil
}

// MarshalJSONTo implements [json.MarshalerTo].
func (c Capability) MarshalJSONTo(enc *jsontext.Encoder) error {
	switch c.Status {
	case Granted:
		return json.MarshalEncode(enc, statusGrant{c.Grant, c.Status})
	case Denied:
		return json.MarshalEncode(enc, statusDenied{c.DeniedCapability, c.Reason, c.Status})
	}
	return fmt.Errorf("capability has no status %q", c.Status)
}

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (c *Capability) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	m, err := readTagged(dec, "status")
	if err != nil {
		return err
	}
	*c = Capability{Status: Status(*m.tag)}
	switch c.Status {
	case Granted:
		return m.want("grant", &c.Grant)
	case Denied:
		if _, ok := m.members["denied_capability"]; ok {
			if err := m.want("denied_capability", &c.DeniedCapability); err != nil {
				return err
			}
		}
		return m.want("reason", &c.Reason)
	default:
		return fmt.Errorf("capability has no status %q", c.Status)
	}
}

// MarshalJSONTo implements [json.MarshalerTo].
func (e Execution) MarshalJSONTo(enc *jsontext.Encoder) error {
	switch e.Status {
	case Success:
		return json.MarshalEncode(enc, statusOnly{e.Status})
	case Trap:
		return json.MarshalEncode(enc, statusMessage{e.Message, e.Status})
	case ResourceExceeded:
		return json.MarshalEncode(enc, statusKind{e.Kind, e.Status})
	case HostDenied:
		return json.MarshalEncode(enc, statusReason{e.Reason, e.Status})
	}
	return fmt.Errorf("execution has no status %q", e.Status)
}

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (e *Execution) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	m, err := readTagged(dec, "status")
	if err != nil {
		return err
	}
	*e = Execution{Status: Status(*m.tag)}
	switch e.Status {
	case Success:
	case Trap:
		return m.want("message", &e.Message)
	case ResourceExceeded:
		return m.want("kind", &e.Kind)
	case HostDenied:
		return m.want("reason", &e.Reason)
	default:
		return fmt.Errorf("execution has no status %q", e.Status)
	}
	return nil
}

// MarshalJSONTo implements [json.MarshalerTo].
func (v Verdict) MarshalJSONTo(enc *jsontext.Encoder) error {
	if v.Approved {
		return json.MarshalEncode(enc, verdictApproved{v.Scope, "approved"})
	}
	return json.MarshalEncode(enc, verdictDenied{v.Reason, "denied"})
}

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (v *Verdict) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	m, err := readTagged(dec, "verdict")
	if err != nil {
		return err
	}
	*v = Verdict{}
	switch *m.tag {
	case "approved":
		v.Approved = true
		return m.want("scope", &v.Scope)
	case "denied":
		return m.want("reason", &v.Reason)
	}
	return fmt.Errorf("no verdict %q", *m.tag)
}

// tagged is an object read for its tag first.
type tagged struct {
	tag     *string
	members map[string]jsontext.Value
}

func readTagged(dec *jsontext.Decoder, name string) (tagged, error) {
	var m tagged
	if err := json.UnmarshalDecode(dec, &m.members); err != nil {
		return m, err
	}
	m.tag = new(string)
	return m, m.want(name, m.tag)
}

func (m tagged) want(name string, into any) error {
	raw, ok := m.members[name]
	if !ok {
		return fmt.Errorf("no %s", name)
	}
	return json.Unmarshal(raw, into)
}
