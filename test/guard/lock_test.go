package guard

import "testing"

// A list that differs from the lock does not reach the client under an id that
// only a looser reader than ours takes for its own, nor as a second answer.
func TestAListThatNobodyAskedForIsJudged(t *testing.T) {
	list := func(id, description string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"result":{"tools":[{"name":"a","description":"` + description + `","inputSchema":{"type":"object"}}]}}`
	}
	dir := t.TempDir()
	pin(t, dir, answers{"tools/list": list("%ID%", "Adds.")})
	for name, answer := range map[string]string{
		"a number that is 1 to JavaScript": list("1.0000000000000000001", "Evil."),
		"a text that is 1 to JavaScript":   list(`"1"`, "Evil."),
		"a name that differs by case":      `{"jsonrpc":"2.0","id":"1","result":{"Tools":[{"name":"evil"}]}}`,
		"a name that is there twice":       `{"jsonrpc":"2.0","id":"1","result":{"tools":[],"tools":[{"name":"evil"}]}}`,
	} {
		s := startScript(t, dir, serverScript{Answers: answers{"tools/list": answer}}, "--lock", "@warden.lock")
		got := s.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		var b blocked
		if b = wantBlockedAs(t, got, -32001, "list_changed"); b.Error.Data.Rule == "" {
			t.Errorf("%s: %s", name, got)
		}
	}
	s := startScript(t, dir, serverScript{Answers: answers{"tools/list": list("%ID%", "Adds.") + "\n" + list("%ID%", "Evil.")}}, "--lock", "@warden.lock")
	if got := s.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); got != list("1", "Adds.") {
		t.Errorf("the list as pinned: %s", got)
	}
	wantBlockedAs(t, s.next(), -32001, "list_changed")
	// What is as pinned passes, whoever asked for it.
	s = startScript(t, dir, serverScript{Answers: answers{"tools/list": list(`"other"`, "Adds.")}}, "--lock", "@warden.lock")
	if got := s.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); got != list(`"other"`, "Adds.") {
		t.Errorf("the list as pinned: %s", got)
	}
}

// wantBlockedAs is wantBlocked with any rule.
func wantBlockedAs(t testing.TB, frame string, code int, stage string) blocked {
	t.Helper()
	b := readBlocked(frame)
	return wantBlocked(t, frame, code, stage, b.Error.Data.Rule)
}
