package cli

import (
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/aegis-aar/aegis/confine"
	"github.com/aegis-aar/aegis/inspect"
	"github.com/aegis-aar/aegis/internal/guard"
)

// postureFlags say what blocks and what is only watched (guard contract, section 5).
type postureFlags struct {
	auditOnly   bool
	watch       []*bool // of guard.Categories, and one for all of them
	allowDomain bool

	blockPhrases    bool
	blockIPLiterals bool
	redactSecrets   bool

	lists catalogFlags
	inert []string // flags that were given and do nothing
}

// inertFlags blocked what blocks by itself now.
var inertFlags = []guard.Category{guard.ANSI, guard.SecretEcho, guard.ExfilDomain, guard.ListChanged, guard.Policy, guard.Deterministic}

func (f *postureFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.BoolVar(&f.auditOnly, "audit-only", false, "watch and block nothing, whatever else is set")
	for _, c := range append(slices.Clone(guard.Categories), guard.Deterministic) {
		what := "only watch " + string(c)
		if c == guard.Deterministic {
			what = "only watch every category that blocks by default"
		}
		f.watch = append(f.watch, fs.Bool("no-block-"+string(c), false, what))
	}
	fs.BoolVar(&f.allowDomain, "allow-exfil-domain", false, "the same as --no-block-exfil-domain")
	fs.BoolVar(&f.blockPhrases, "block-inject-phrase", false, "block results with a phrase of prompt injection")
	fs.StringVar(&f.lists.blockPhrases, "block-inject-phrase-only", "", "block results with a phrase of those in `FILE`, a phrase a line")
	fs.BoolVar(&f.blockIPLiterals, "block-exfil-ip-literal", false, "block every private or loopback address that is written out, not only metadata addresses in URLs")
	fs.BoolVar(&f.redactSecrets, "redact-secret-echo", false, "replace an echoed secret in place, not the result")
	f.lists.register(cmd)
	for _, c := range inertFlags {
		name := "block-" + string(c)
		fs.Bool(name, false, "deprecated: it blocks by default")
		fs.MarkHidden(name)
	}
}

// check finds flags that say nothing any more.
func (f *postureFlags) check(cmd *cobra.Command) error {
	for _, c := range inertFlags {
		if name := "block-" + string(c); cmd.Flags().Changed(name) {
			f.inert = append(f.inert, "--"+name)
		}
	}
	if f.lists.blockPhrases == "" && cmd.Flags().Changed("block-inject-phrase-only") {
		return usagef("--block-inject-phrase-only needs a FILE")
	}
	return nil
}

// posture is what the flags resolve to.
func (f *postureFlags) posture() guard.Posture {
	p := guard.Posture{
		AuditOnly:       f.auditOnly,
		Watch:           map[guard.Category]bool{},
		BlockPhrases:    f.phrasesThatBlock(),
		BlockIPLiterals: f.blockIPLiterals,
		RedactSecrets:   f.redactSecrets,
	}
	for i, c := range append(slices.Clone(guard.Categories), guard.Deterministic) {
		p.Watch[c] = *f.watch[i]
	}
	p.Watch[guard.ExfilDomain] = p.Watch[guard.ExfilDomain] || f.allowDomain
	return p
}

func (f *postureFlags) phrasesThatBlock() inspect.Phrases {
	switch {
	case f.blockPhrases:
		return inspect.BlockEveryPhrase
	case f.lists.blockPhrases != "":
		return inspect.BlockListedPhrases
	}
	return inspect.BlockNoPhrase
}

// catalogFlags name the lists that the catalog has beside its own.
type catalogFlags struct{ denylist, phrases, blockPhrases string }

func (f *catalogFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.denylist, "exfil-denylist", "", "add the domains in `FILE`, a domain a line")
	cmd.Flags().StringVar(&f.phrases, "inject-phrases", "", "add the phrases in `FILE`, a phrase a line")
}

// files are the lists; a Path may be empty.
func (f *catalogFlags) files() []confine.Protected {
	return []confine.Protected{
		{What: "the list of --exfil-denylist", Path: f.denylist},
		{What: "the list of --inject-phrases", Path: f.phrases},
		{What: "the list of --block-inject-phrase-only", Path: f.blockPhrases},
	}
}

// open reads the lists and makes the catalog.
func (f catalogFlags) open() (*inspect.Catalog, error) {
	var o inspect.Options
	for _, list := range []struct {
		flag, path string
		read       func(string, io.Reader) ([]string, error)
		into       *[]string
	}{
		{"--exfil-denylist", f.denylist, inspect.ReadDomains, &o.ExfilDomains},
		{"--inject-phrases", f.phrases, inspect.ReadPhrases, &o.Phrases},
		{"--block-inject-phrase-only", f.blockPhrases, inspect.ReadPhrases, &o.BlockPhrases},
	} {
		if list.path == "" {
			continue
		}
		file, err := os.Open(list.path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", list.flag, err)
		}
		*list.into, err = list.read(list.path, file)
		file.Close()
		if err != nil {
			return nil, err
		}
	}
	return inspect.New(o)
}

// outputFlags say where findings and frames go.
type outputFlags struct{ json, sarif, record string }

func (f *outputFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.json, "json", "", "write findings to `FILE`, a JSON object a line")
	cmd.Flags().StringVar(&f.sarif, "sarif", "", "write findings to `FILE` as SARIF 2.1.0")
	cmd.Flags().StringVar(&f.record, "record", "", "write every frame as it came, secrets included, to `FILE` (0600) for `aegis inspect`")
}

// files are those that are written; a Path may be empty. What is no regular file,
// a pipe or a device, is not kept: it holds nothing.
func (f *outputFlags) files() []confine.Protected {
	files := []confine.Protected{
		{What: "the file of --json", Path: f.json},
		{What: "the file of --sarif", Path: f.sarif},
		{What: "the recording", Path: f.record, Secret: true},
	}
	for i := range files {
		if info, err := os.Stat(files[i].Path); err == nil && !info.Mode().IsRegular() {
			files[i].Path = ""
		}
	}
	return files
}

// check finds outputs that would overwrite one another or an input.
func (f *outputFlags) check(inputs []confine.Protected) error {
	taken := inputs
	for _, out := range f.files() {
		for _, other := range taken {
			if out.Path != "" && other.Path != "" && samePath(out.Path, other.Path) {
				return fmt.Errorf("%s is %s; give %s a name of its own", out.Path, other.What, out.What)
			}
		}
		taken = append(taken, out)
	}
	return nil
}
