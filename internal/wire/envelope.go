package wire

import "strings"

// envelope reads one JSON-RPC object. Members may come in any order, so what
// depends on the method is judged at the end.
func (p *parser) envelope(e *Element) fault {
	if _, err := p.dec.ReadToken(); err != nil {
		return p.syntax(err)
	}
	start := int(p.dec.InputOffset()) - 1

	var hasMethod bool
	var params params
	for p.dec.PeekKind() != '}' {
		name, f := p.member(topMembers)
		if f != "" {
			return f
		}
		switch string(name) {
		case "method":
			hasMethod = true
			e.Method, f = p.method()
		case "id":
			e.ID, f = p.id()
		case "params":
			params, f = p.params()
		case "result":
			e.HasResult = true
			_, f = p.value()
		case "error":
			e.HasError = true
			_, f = p.value()
		default:
			_, f = p.value()
		}
		if f != "" {
			return f
		}
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return p.syntax(err)
	}
	end := int(p.dec.InputOffset())
	e.Raw, e.Offset = p.text[start:end:end], start

	switch {
	case hasMethod && (e.HasResult || e.HasError):
		return faultBoth
	case hasMethod:
		return e.setParams(params)
	case e.HasResult || e.HasError:
		e.Kind = Response
	}
	return ""
}

// setParams completes an element that has a method.
func (e *Element) setParams(params params) fault {
	e.Kind = Notification
	if e.ID.Present() {
		e.Kind = Request
	}
	if params.fault != "" {
		return params.fault
	}
	switch e.Method {
	case MethodCall:
		if !params.hasTool {
			return faultToolName
		}
		if strings.IndexByte(params.tool, 0) >= 0 {
			return faultNUL
		}
		e.IsCall, e.Tool, e.Arguments = true, params.tool, params.arguments
	case MethodList:
		e.Cursor = params.cursor
	case methodCancelled:
		if params.disguisedCancel {
			return faultDisguised
		}
		e.CancelID = params.requestID
	}
	return ""
}

func (p *parser) method() (string, fault) {
	kind := p.dec.PeekKind()
	v, f := p.value()
	switch {
	case f != "":
		return "", f
	case kind != '"':
		return "", faultMethod
	case string(v) == `"`+MethodCall+`"`:
		return MethodCall, "" // saves the allocation
	}
	method := string(p.unquote(v))
	if strings.IndexByte(method, 0) >= 0 {
		return "", faultNUL
	}
	return method, ""
}

func (p *parser) id() (ID, fault) {
	kind := p.dec.PeekKind()
	v, f := p.value()
	switch {
	case f != "":
		return ID{}, f
	case kind != '"' && kind != '0' && kind != 'n':
		return ID{}, faultID
	case len(v) > maxID:
		return ID{}, faultLongID
	}
	return ID{Raw: v}, ""
}

// params is what the members of params would mean for each method.
type params struct {
	fault           fault // if there is a method at all
	hasTool         bool
	tool            string
	arguments       []byte
	cursor          []byte
	requestID       ID
	disguisedCancel bool
}

// params reads the value of the member params, which may be of any type.
func (p *parser) params() (params, fault) {
	var ps params
	if p.dec.PeekKind() != '{' {
		_, f := p.value()
		return ps, f
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return ps, p.syntax(err)
	}
	for p.dec.PeekKind() != '}' {
		name, f := p.member(paramsMembers)
		switch f {
		case "":
		case faultDisguised, faultProto, faultNUL:
			ps.fault = f
		default:
			return ps, f
		}
		if disguised(name, cancelMembers) {
			ps.disguisedCancel = true
		}
		kind := p.dec.PeekKind()
		var v []byte
		switch string(name) {
		case "name":
			if v, f = p.value(); f == "" && kind == '"' {
				ps.hasTool, ps.tool = true, string(p.unquote(v))
			}
		case "arguments":
			ps.arguments, f = p.value()
		case "cursor":
			ps.cursor, f = p.value()
		case "requestId":
			if v, f = p.value(); f == "" && (kind == '"' || kind == '0') && len(v) <= maxID {
				ps.requestID = ID{Raw: v}
			}
		default:
			_, f = p.value()
		}
		if f != "" {
			return ps, f
		}
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return ps, p.syntax(err)
	}
	return ps, ""
}
