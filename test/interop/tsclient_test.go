package interop

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/aegis-aar/aegis/test/internal/harness"
)

// playTypeScript plays a scenario with the TypeScript client.
func playTypeScript(t *testing.T, scenario, work string, argv, env []string) transcript {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), sessionTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", append([]string{"client.mjs", scenarioFile(scenario), work}, argv...)...)
	cmd.Env = append(os.Environ(), env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("the TypeScript client: %v\n%s", err, &stderr)
	}
	harness.NoRace(t, stderr.String())
	return newTranscript(t, stdout.Bytes())
}
