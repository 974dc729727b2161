package aar_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/aar/sinktest"
)

// The power goes out at three moments of a Session. Each time every state that
// the disk may be left in is judged; the outcome is the table of
// docs/power-loss.md.
func TestPowerLoss(t *testing.T) {
	// In the bubble no time passes, so that no outcome is synced meanwhile.
	synctest.Test(t, func(t *testing.T) {
		var table strings.Builder
		table.WriteString("| power lost | left of what no sync covered | states | `verify` says | exit | the next start |\n|---|---|---|---|---|---|\n")

		disk := &sinktest.PowerLoss{}
		w := mustWriter(t, disk)
		opened, _ := disk.Written()
		judge(t, &table, "during the first start", at(t, opened, 0))

		var begun []*aar.Call
		for range 5 {
			c := mustBegin(t, w)
			must(t, c.Durable())
			begun = append(begun, c)
		}
		_, synced := disk.Written()
		for _, c := range begun {
			o := succeeded()
			// Long lines of two-byte characters, so that a page's edge may split one.
			o.Policy = aar.Policy{Status: aar.Denied, Reason: strings.Repeat("\u00e9", 1000)}
			must(t, c.End(o))
		}
		running, _ := disk.Written()
		judge(t, &table, "with five outcomes not synced", at(t, running, synced))

		must(t, w.Close(aar.Close{}))
		closed, _ := disk.Written()
		judge(t, &table, "during the last sync of the session", at(t, closed, synced))

		t.Log("\n" + table.String())
		doc, err := os.ReadFile(filepath.Join("..", "docs", "power-loss.md"))
		must(t, err)
		if !strings.Contains(strings.ReplaceAll(string(doc), "\r\n", "\n"), table.String()) {
			t.Error("docs/power-loss.md does not hold this table: copy it there")
		}
	})
}

// at is a disk that data was appended to, the first synced bytes of it synced.
func at(t *testing.T, data []byte, synced int) *sinktest.PowerLoss {
	t.Helper()
	disk := &sinktest.PowerLoss{}
	must(t, disk.Append(data[:synced]))
	must(t, disk.Sync())
	must(t, disk.Append(data[synced:]))
	return disk
}

// judge verifies every state that disk may be left in, adds what it found to
// the table, and checks that nothing a completed sync covers is in doubt.
func judge(t *testing.T, table *strings.Builder, moment string, disk *sinktest.PowerLoss) {
	t.Helper()
	data, synced := disk.Written()
	syncedLines := uint64(bytes.Count(data[:synced], []byte("\n")))
	path := filepath.Join(t.TempDir(), "record.aarl")
	counts := map[string]int{}
	var order []string
	for loss := range disk.Losses() {
		file := disk.Left(loss)
		if !bytes.HasPrefix(file, data[:synced]) {
			t.Fatalf("%s: the model damages what is synced", loss)
		}
		verdict, exit, line := "", 2, uint64(0)
		report, err := aar.Verify(t.Context(), bytes.NewReader(file), aar.VerifyOptions{})
		if err != nil {
			if _, err := fmt.Sscanf(err.Error(), "line %d is not UTF-8", &line); err != nil {
				t.Fatal(err)
			}
			verdict = "error: … line N is not UTF-8"
		} else {
			verdict, exit = report.Verdict.String(), report.Verdict.ExitCode()
			if report.Reason != nil {
				verdict += ": " + map[aar.ReasonCode]string{
					aar.UnanchoredTail: "session N has no close record …",
					aar.TornFinalLine:  "final line N does not parse; torn write",
					aar.MalformedLine:  "line N: not JSON: …",
					aar.EmptyChain:     "no lines to verify",
				}[report.Reason.Code]
				line = report.Reason.Line
			}
		}
		if strings.HasSuffix(verdict, ": ") {
			t.Errorf("%s, %s: %s", moment, loss, report.Headline())
		}
		// The damage named, if any, stands behind the last completed sync.
		if line != 0 && line <= syncedLines {
			t.Errorf("%s, %s: %s names line %d, and %d lines were synced", moment, loss, verdict, line, syncedLines)
		}

		must(t, os.WriteFile(path, file, 0o600))
		next := "chains on"
		sink, err := aar.OpenFile(path)
		if torn, ok := errors.AsType[*aar.TornError](err); ok {
			next = "refuses; names the byte to cut at"
			if torn.Offset < int64(synced) {
				t.Errorf("%s, %s: the cut at byte %d loses synced lines", moment, loss, torn.Offset)
			}
		} else if err != nil {
			t.Errorf("%s, %s: %v", moment, loss, err)
		} else {
			must(t, sink.Close())
		}

		key := fmt.Sprintf("| %s | %s | %%d | %s | %d | %s |\n", moment, what(file, len(data), synced), verdict, exit, next)
		if counts[key]++; counts[key] == 1 {
			order = append(order, key)
		}
	}
	for _, key := range order {
		fmt.Fprintf(table, key, counts[key])
	}
}

// what says what a file of that length, synced up to a point, has left.
func what(file []byte, written, synced int) string {
	nul := bytes.IndexByte(file, 0)
	switch {
	case len(file) == synced:
		return "nothing"
	case nul < 0 && len(file) == written:
		return "all"
	case nul < 0 && bytes.HasSuffix(file, []byte("}\n")):
		return "whole lines"
	case nul < 0 && bytes.HasSuffix(file, []byte("}")):
		return "whole lines, the last without its line end"
	case nul < 0:
		return "it ends within a line"
	}
	if rest := file[nul:]; bytes.IndexByte(bytes.TrimRight(rest, "\n"), '\n') >= 0 {
		return "NUL bytes before the last line"
	}
	return "NUL bytes in the last line"
}
