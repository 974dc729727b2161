package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/aegis-aar/aegis/aar"
)

// version is set at link time (-X); a plain `go install` falls back to the
// version that the module system recorded.
var version string

func versionString() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

func newVersion(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, the record's schema version and the platform",
		Args:  takesNoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(s.out, "aegis %s (record schema %d, %s %s/%s)\n",
				versionString(), aar.SchemaVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
