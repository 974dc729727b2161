package lock

import (
	"errors"
	"net/http"
	"strings"
	"testing"
)

// A server may repeat what it was sent, by mistake as in "bad token X": neither
// the lock nor an error holds it.
func TestHeaderValuesAreRepeatedNowhere(t *testing.T) {
	t.Parallel()
	const token = "hunter2hunter2"
	header := http.Header{"Authorization": {"Bearer " + token}, "X-Tenant": {"acme"}}
	for name, c := range map[string]struct {
		tool string
		want string // empty if it can be pinned
	}{
		"nothing":          {`{"name":"t","description":"of acme"}`, ""},
		"in a description": {`{"name":"t","description":"is ` + token + `"}`, errRepeated.Error()},
		"in a name":        {`{"name":"` + token + `"}`, errRepeated.Error()},
		"escaped":          {`{"name":"t","inputSchema":{"enum":["\u0068unter2hunter2"]}}`, errRepeated.Error()},
		"in a member name": {`{"name":"t","inputSchema":{"properties":{"` + token + `":{}}}}`, errRepeated.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := serve(t, &fake{Tools: []string{c.tool}}).capture(CaptureOptions{Header: header})
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), token) {
				t.Error(err)
			}
		})
	}
}

func TestErrorsRepeatNoHeaderValue(t *testing.T) {
	t.Parallel()
	const token = "hunter2hunter2"
	sent := valuesOf(http.Header{"Authorization": {"Bearer " + token}})
	for _, before := range []int{0, 490} { // where a long message is cut
		message := strings.Repeat("x", before) + "bad token " + token
		err := rpcError("initialize", []byte(`{"error":{"code":-1,"message":"`+message+`"}}`), sent)
		rpc, ok := errors.AsType[*RPCError](err)
		if !ok || rpc.Code != -1 || strings.Contains(err.Error(), "hunter") {
			t.Error(err)
		}
	}
	masked := &maskedError{&SurfaceError{"tools/" + token, "is declared twice"}, sent}
	if _, ok := errors.AsType[*SurfaceError](masked); !ok || strings.Contains(masked.Error(), token) {
		t.Error(masked)
	}
}
