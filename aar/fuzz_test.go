package aar

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"unicode"
)

// Whatever the bytes are, Verify gives an error or a report that holds
// together, and the same one however it is run.
func FuzzVerify(f *testing.F) {
	for _, dir := range []string{"tampered", "indeterminate"} {
		names, _ := filepath.Glob(filepath.Join("testdata", dir, "*.aarl"))
		for _, name := range names {
			file, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(file)
		}
	}
	f.Add(goldenSession(f))
	f.Add(built(f, func(c *chain) {
		c.open()
		c.decision("a")
		c.close()
		c.key = testKey(2)
		c.open()
		c.close()
	}))
	f.Fuzz(func(t *testing.T, file []byte) {
		report, err := Verify(t.Context(), bytes.NewReader(file), VerifyOptions{Workers: 1})
		again, errAgain := Verify(t.Context(), &oddReader{file, newRandom(uint64(len(file)))}, VerifyOptions{Workers: 4})
		if !reflect.DeepEqual(report, again) || fmt.Sprint(err) != fmt.Sprint(errAgain) {
			t.Fatalf("two reports:\n%+v, %v\n%+v, %v", report, err, again, errAgain)
		}
		if (report == nil) == (err == nil) {
			t.Fatalf("report %v, error %v", report, err)
		}
		if err != nil {
			return
		}
		if (report.Verdict == Verified) != (report.Reason == nil) {
			t.Fatalf("verdict %s, reason %+v", report.Verdict, report.Reason)
		}
		if report.Verdict != Verified {
			return
		}
		// Verified means: read to the end, each line one that can be read alone,
		// signed up to a close that is the last of them.
		rows := newRowReader(bytes.NewReader(file))
		var last Line
		for n := uint64(0); ; n++ {
			row, err := rows.next()
			if err != nil {
				if n != report.Lines {
					t.Fatalf("%d rows, %d lines", n, report.Lines)
				}
				break
			}
			canonical, err := Canonicalize(row.text)
			if err != nil {
				t.Fatal(err)
			}
			if last, err = ParseLine(canonical); err != nil {
				if _, ok := errors.AsType[*LineError](err); !ok {
					t.Fatalf("%s: %v", canonical, err)
				}
			}
		}
		if last == nil || last.Type() != TypeClose || report.Coverage == nil || report.InFlightCount != 0 {
			t.Fatalf("Verified with coverage %v, %d in flight, ending in %+v", report.Coverage, report.InFlightCount, last)
		}
	})
}

// What ParseLine reads it can write, and reads again as the same.
func FuzzParseLine(f *testing.F) {
	for _, name := range golden {
		f.Add(readVector(f, "golden/"+name+".json"))
	}
	f.Add([]byte(`{"line_type":"outcome","decision_axes":{"derived":[{"axis":"net","port":443},{"truncated":true,"sha256":"00"}]},"policy":{"status":"allowed"},"capability":{"status":"denied","reason":""},"execution":{"status":"success"},"findings":[{"rule":"r","action":"block"}]}`))
	f.Add([]byte(`{"line_type":"close","child":{"stage":"run","signal":"killed"}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		line, err := ParseLine(text)
		if err != nil {
			if line != nil {
				t.Fatalf("a line beside the error %v", err)
			}
			return
		}
		first, err := marshalLine(line)
		if o, ok := line.(*Outcome); ok && (o.Policy.Status == "" || o.Capability.Status == "" || o.Execution.Status == "") {
			return // read without a station: there is no such line to write
		}
		if err != nil {
			t.Fatalf("%+v cannot be written: %v", line, err)
		}
		again, err := ParseLine(first)
		if err != nil {
			t.Fatalf("%s: %v", first, err)
		}
		second, err := marshalLine(again)
		if err != nil || !bytes.Equal(first, second) {
			t.Fatalf("%v:\n%s\n%s", err, first, second)
		}
	})
}

// lastRow reads a file backwards, in pieces; read forwards the last row is the
// same one.
func FuzzOpenTail(f *testing.F) {
	f.Add([]byte("{}\n{}"), uint32(0), uint32(0))
	f.Add([]byte("{}\n\n \r\n"), uint32(70_000), uint32(0))
	f.Add([]byte("x\u00a0"), uint32(65_535), uint32(65_536))
	f.Add([]byte("a\nb\x00\n"), uint32(1), uint32(131_072))
	f.Add([]byte("\xa0\xc2"), uint32(65_536), uint32(1))
	f.Fuzz(func(t *testing.T, text []byte, at, pad uint32) {
		// The text, once in front of and once behind a filling of one of its bytes,
		// so that rows and blanks cross the pieces.
		at, pad = at%(1<<18), pad%(1<<18)
		var file []byte
		if len(text) > 0 {
			file = append(bytes.Repeat(text[:1], int(at)), text...)
			file = append(file, bytes.Repeat(text[len(text)-1:], int(pad))...)
		}
		row, start, err := lastRow(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		var want []byte
		wantStart, offset := len(file), 0
		for line := range bytes.Lines(file) {
			if len(bytes.TrimSpace(line)) > 0 {
				want, wantStart = bytes.TrimSuffix(line, []byte("\n")), offset
			}
			offset += len(line)
		}
		// White space at the end of a row means nothing, and is not always kept.
		row, want = bytes.TrimRightFunc(row, unicode.IsSpace), bytes.TrimRightFunc(want, unicode.IsSpace)
		if !bytes.Equal(row, want) {
			t.Fatalf("row of %d bytes at %d, want %d at %d", len(row), start, len(want), wantStart)
		}
		if len(want) > 0 && int(start) != wantStart {
			t.Fatalf("at %d, want %d", start, wantStart)
		}
	})
}
