package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/aegis-aar/aegis/internal/demo"
)

func newDemo(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Show the main job on embedded parts: record, refuse, verify, tamper, recheck",
		Long: `Run the main job on parts that are built in, and show each step: an MCP server
as a child process, an allowed and a refused call, verify, one flipped byte and
verify again, and a recheck under another policy. Every command shown is the one
that ran. Nothing outside a temporary directory is touched.

Exit: 0 if all went as told, 1 if not.`,
		Args: takesNoArgs,
		RunE: func(*cobra.Command, []string) error {
			self, err := os.Executable()
			if err != nil {
				return err
			}
			dir, err := os.MkdirTemp("", "aegis-demo-")
			if err != nil {
				return err
			}
			defer os.RemoveAll(dir)
			story := demo.Story{Out: s.out, Heading: headings(s.out), Dir: dir, Self: self, Run: Main}
			if err := story.Tell(); err != nil {
				return fmt.Errorf("the demo did not go as told: %w", err)
			}
			return nil
		},
	}
}

func newDemoServer(s streams) *cobra.Command {
	return &cobra.Command{
		Use:    demo.ServerCommand,
		Short:  "The MCP server of the demo",
		Hidden: true,
		Args:   takesNoArgs,
		RunE:   func(*cobra.Command, []string) error { return demo.Serve(s.in, s.out) },
	}
}
