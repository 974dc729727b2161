package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/aegis-aar/aegis/aar"
)

// recordFlags say where the record goes and what signs it.
type recordFlags struct {
	audit, key string
}

func (f *recordFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.audit, "audit", "", "write the record to `PATH`; PATH/ with a slash makes one file a session in that directory")
	cmd.Flags().StringVar(&f.key, "signing-key", "", "sign the record with the key file at `PATH`")
}

// open starts the Session: the key is read and the open Line is durable before
// anything else happens. path is the file it is in.
func (f *recordFlags) open() (w *aar.Writer, path string, err error) {
	key, err := aar.LoadSigningKey(f.key)
	if err != nil {
		return nil, "", err
	}
	sink, err := f.sink()
	if err != nil {
		return nil, "", err
	}
	if w, err = aar.NewWriter(sink, key); err != nil {
		return nil, "", errors.Join(err, sink.Close())
	}
	return w, sink.Path(), nil
}

func (f *recordFlags) sink() (*aar.FileSink, error) {
	if strings.HasSuffix(f.audit, "/") || strings.HasSuffix(f.audit, string(os.PathSeparator)) {
		return aar.CreateFile(f.audit)
	}
	if info, err := os.Stat(f.audit); err == nil && info.IsDir() {
		return nil, fmt.Errorf("record %s is a directory; give `--audit %s/` for one file a session", f.audit, f.audit)
	}
	return aar.OpenFile(f.audit)
}
