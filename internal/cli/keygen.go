package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/aegis-aar/aegis/aar"
)

func newKeygen(s streams) *cobra.Command {
	var out string
	var force bool
	cmd := &cobra.Command{
		Use:   "keygen --out PATH [--force]",
		Short: "Make an ed25519 key that signs records",
		Long: `Make a new ed25519 signing key and write its seed to PATH (mode 0600).

stdout has exactly two lines, the public key and its fingerprint. Give the
public key to whoever is to verify your records: pinned to it, they prove who
wrote them. Keep the file to yourself: whoever reads it can sign as you.

Exit: 0 the key was written, 1 it was not.`,
		Args: takesNoArgs,
		RunE: func(*cobra.Command, []string) error {
			if out == "" {
				return usagef("keygen requires --out <PATH>")
			}
			key, err := aar.GenerateSigningKey(out, force)
			if err != nil {
				return err
			}
			fmt.Fprintf(s.out, "public_key %s\nkey_id %s\n", key.Public(), key.ID())
			fmt.Fprintf(s.err, "signing key written to %s\n", out)
			fmt.Fprintf(s.err, "pin records from this key with: aegis verify --key %s <PATH>\n", key.Public())
			return nil
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "`PATH` of the key file; missing directories are made")
	cmd.Flags().BoolVar(&force, "force", false, "replace an existing key")
	return cmd
}
