package corpus

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// maxText is the longest text in bytes that is made one result.
const maxText = 4 << 20

// Texts calls each with every text file below dir, gunzipped if need be. What is
// not UTF-8, is over four MiB or cannot be read is left out.
func Texts(dir string, each func(path string, text []byte)) {
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil // what cannot be read is no text for us
		}
		text, err := readText(path)
		if err == nil && len(text) > 0 && len(text) <= maxText && utf8.Valid(text) && bytes.IndexByte(text, 0) < 0 {
			each(path, text)
		}
		return nil
	})
}

func readText(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var r io.Reader = file
	if strings.HasSuffix(path, ".gz") {
		if r, err = gzip.NewReader(file); err != nil {
			return nil, err
		}
	}
	return io.ReadAll(io.LimitReader(r, maxText+1))
}

// Frame is a tools/call answer whose one block is text.
func Frame(text []byte) []byte {
	var out bytes.Buffer
	out.WriteString(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":`)
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(string(text)) // a string can always be written
	out.Truncate(out.Len() - 1)
	out.WriteString(`}]}}`)
	return out.Bytes()
}
