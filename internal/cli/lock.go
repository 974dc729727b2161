package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/internal/report"
	"github.com/aegis-aar/aegis/lock"
)

// defaultLock is the file that the lock commands work on unless another is named.
const defaultLock = "warden.lock"

func newLock(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lock",
		Short: "Attest a lock file anew, or check that it adds up",
		Long: `Work on a lock file alone. No server is started and nothing that is pinned
changes.

Exit: 0 all well; 2 the lock was refused or could not be read or written, or the
command line is wrong.`,
		Annotations: map[string]string{usageExit: "2"},
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unknown command: lock %s", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newLockRotate(s), newLockVerify(s))
	return cmd
}

type rotateFlags struct {
	approver, actor, note, key string
}

func newLockRotate(s streams) *cobra.Command {
	var f rotateFlags
	cmd := &cobra.Command{
		Use:   "rotate [LOCK]",
		Short: "Attest what a lock pins once more",
		Long: `Add an attestation to LOCK (warden.lock without one). What is pinned stays as it
is, and so does its digest. A lock that does not add up, or whose approval is of
another surface, is refused. With --approver the surface is approved anew.

A signature is of the attestations too: it is dropped, and made anew with
--signing-key.

Exit: 0 the lock was written; 2 it was not.`,
		Annotations: map[string]string{usageExit: "2"},
		Args:        takesLock,
		RunE: func(_ *cobra.Command, args []string) error {
			return rotate(s, f, lockPath(args))
		},
	}
	cmd.Flags().StringVar(&f.approver, "approver", "", "approve the pinned surface in the name of `NAME`")
	cmd.Flags().StringVar(&f.actor, "actor", "", "attest in the name of `NAME` without approving")
	cmd.Flags().StringVar(&f.note, "note", "", "a public `TEXT` of at most 1000 characters in the attestation")
	cmd.Flags().StringVar(&f.key, "signing-key", "", "sign the lock with the key in the file at `PATH`")
	return cmd
}

// takesLock allows one lock file or none.
func takesLock(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return takesOne("LOCK")(cmd, args)
	}
	return nil
}

func lockPath(args []string) string {
	if len(args) == 0 {
		return defaultLock
	}
	return args[0]
}

func rotate(s streams, f rotateFlags, path string) error {
	if (f.approver == "") == (f.actor == "") {
		return usagef("lock rotate requires either --approver or --actor")
	}
	l, err := lock.Read(path)
	if err != nil {
		return &exitError{2, err}
	}
	wasSigned := l.Signature != nil
	err = l.Rotate(lock.Rotation{Approver: f.approver, Actor: f.actor, Note: f.note, Version: versionString(), Now: time.Now()})
	if err == nil {
		err = signLock(l, f.key)
	}
	if err == nil {
		err = writeLock(path, l)
	}
	if err != nil {
		return &exitError{2, err}
	}
	if wasSigned && f.key == "" {
		fmt.Fprintf(s.err, "warning: the signature was of the earlier attestations and is gone; sign with --signing-key\n")
	}
	fmt.Fprintf(s.out, "%s: attested, %s unchanged\n", report.SafeText(path), l.OverallDigest)
	return nil
}

func newLockVerify(s streams) *cobra.Command {
	var key lockKey
	cmd := &cobra.Command{
		Use:   "verify [--key HEX] [LOCK]...",
		Short: "Check that a lock adds up, and who signed it",
		Long: `Read each LOCK (warden.lock without one) strictly, hold every digest in it to what it
is of, and say who approved and signed it. Whether a server still is what the
lock says is for check to find out.

Without --key a signature only shows that the lock was not changed since somebody
signed it; with --key, that the owner of that key did.

Exit: 0 they add up; 2 one does not or could not be read.`,
		Annotations: map[string]string{usageExit: "2"},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{defaultLock}
			}
			for _, path := range args {
				l, err := readLock(path, key)
				if err != nil {
					return err
				}
				describeLock(s, path, l, key.public != nil)
			}
			return nil
		},
	}
	cmd.Flags().Var(&key, "key", "require a signature of this public key, 64 `HEX` characters")
	return cmd
}

func describeLock(s streams, path string, l *lock.Lock, pinned bool) {
	fmt.Fprintf(s.out, "%s\n", headings(s.out)(fmt.Sprintf("%s: schema %d, %s, %s, %s", report.SafeText(path), l.SchemaVersion,
		count(len(l.Tools), "tool"), count(len(l.Resources), "resource"), count(len(l.Prompts), "prompt"))))
	fmt.Fprintf(s.out, "overall_digest %s\n", l.OverallDigest)
	if l.Pin.Approved {
		fmt.Fprintf(s.out, "approved by %s at %s (as the lock says)\n", text(l.Pin.Approver), text(l.Pin.ApprovedAt))
	} else {
		fmt.Fprintf(s.out, "not approved\n")
	}
	switch {
	case l.Signature == nil:
		fmt.Fprintf(s.out, "not signed\n")
	case pinned:
		fmt.Fprintf(s.out, "signed by key_id %s (pinned)\n", l.Signature.KeyID)
	default:
		fmt.Fprintf(s.out, "signed by key_id %s (unpinned: anybody could have)\n", l.Signature.KeyID)
	}
	for _, d := range declarations(l) {
		fmt.Fprintf(s.out, "%s\n", d)
	}
	for _, f := range l.Misdeclared() {
		fmt.Fprintf(s.out, "%s %s: %s\n", f.RuleID, shown(f.Target, maxTarget), f.Message)
	}
}

func text(s *string) string {
	if s == nil {
		return "nobody"
	}
	return shown(*s, 200)
}

// lockKey is the public key that a lock must be signed by, if one is given. One
// that is empty, as from a variable that is not set, is not none.
type lockKey struct{ public *aar.PublicKey }

func (k *lockKey) String() string { return "" }
func (k *lockKey) Type() string   { return "HEX" }

// Set implements the flag's value.
func (k *lockKey) Set(text string) error {
	public, err := aar.ParsePublicKey(text)
	if err != nil {
		return fmt.Errorf("a 64-hex public key is needed: %w", err)
	}
	k.public = &public
	return nil
}

// readLock reads a lock and, if a key is given, requires its signature.
func readLock(path string, key lockKey) (*lock.Lock, error) {
	l, err := lock.Read(path)
	if err != nil {
		return nil, &exitError{2, err}
	}
	if key.public == nil {
		return l, nil
	}
	if err := l.VerifySignature(*key.public); err != nil {
		return nil, &exitError{2, fmt.Errorf("lock %s: %w", path, err)}
	}
	return l, nil
}

func signLock(l *lock.Lock, key string) error {
	if key == "" {
		return nil
	}
	k, err := lock.LoadKey(key)
	if err != nil {
		return err
	}
	l.Sign(k)
	return nil
}

// writeLock replaces the file as a whole: a kill leaves the old lock or the new.
func writeLock(path string, l *lock.Lock) error {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".warden-lock-*")
	if err != nil {
		return fmt.Errorf("write the lock: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(l.Bytes())
	// A lock is made to be committed and read by others.
	if err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write the lock: %w", err)
	}
	return nil
}
