package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/aegis-aar/aegis/internal/report"
	"github.com/aegis-aar/aegis/policy"
)

// maxLockFile bounds a lock file.
const maxLockFile = 64 << 20

// loadSurface reads what a policy needs to know of the tools in a lock file. It
// is no check of the lock: neither its digests nor its approval are looked at.
func loadSurface(path string) ([]policy.ToolSurface, error) {
	tools, err := func() ([]policy.ToolSurface, error) {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		text, err := io.ReadAll(io.LimitReader(f, maxLockFile+1))
		if err != nil {
			return nil, err
		}
		if len(text) > maxLockFile {
			return nil, fmt.Errorf("longer than %d bytes", maxLockFile)
		}
		return parseSurface(text)
	}()
	if err != nil {
		return nil, &exitError{2, fmt.Errorf("lock %s: %s", report.SafeText(path), report.SafeText(err.Error()))}
	}
	return tools, nil
}

func parseSurface(text []byte) ([]policy.ToolSurface, error) {
	var lock struct {
		SchemaVersion uint64 `json:"schema_version"`
		Tools         []struct {
			Name            string   `json:"name"`
			Capabilities    []string `json:"capabilities"`
			InputSchemaHash string   `json:"input_schema_hash"`
			SchemaSkeleton  struct {
				Props map[string]struct {
					Type []string `json:"type"`
				} `json:"props"`
			} `json:"schema_skeleton"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		return nil, fmt.Errorf("no lock: %w", err)
	}
	if lock.SchemaVersion != 3 && lock.SchemaVersion != 4 {
		return nil, fmt.Errorf("schema_version %d is none that is read (3, 4)", lock.SchemaVersion)
	}
	tools := make([]policy.ToolSurface, 0, len(lock.Tools))
	for _, t := range lock.Tools {
		s := policy.ToolSurface{Name: t.Name, Capabilities: t.Capabilities, InputSchemaHash: t.InputSchemaHash}
		for path, p := range t.SchemaSkeleton.Props {
			s.Properties = append(s.Properties, policy.Property{Path: path, Types: p.Type})
		}
		slices.SortFunc(s.Properties, func(a, b policy.Property) int { return strings.Compare(a.Path, b.Path) })
		tools = append(tools, s)
	}
	return tools, nil
}
