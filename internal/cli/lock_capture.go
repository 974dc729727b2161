package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/aegis-aar/aegis/confine"
	"github.com/aegis-aar/aegis/internal/report"
	"github.com/aegis-aar/aegis/lock"
)

// captureFlags say how a server's surface is obtained.
type captureFlags struct {
	url          string
	headers      []string
	capabilities []string
	timeout      time.Duration
	confine      confineFlags
}

func (f *captureFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.url, "url", "", "ask the server at `URL` over Streamable HTTP; nothing is started")
	cmd.Flags().StringArrayVar(&f.headers, "header", nil, "send a header to --url, its value from the environment: `NAME=VARIABLE`; may be repeated")
	cmd.Flags().StringSliceVar(&f.capabilities, "client-capability", nil, "tell the server that its client has `NAME`: roots, sampling or elicitation; may be repeated")
	cmd.Flags().DurationVar(&f.timeout, "timeout", time.Minute, "give up after `DURATION`")
	f.confine.register(cmd)
}

// check checks that there is one server to ask.
func (f *captureFlags) check(cmd *cobra.Command, args []string) error {
	for _, c := range f.capabilities {
		if !slices.Contains([]string{"roots", "sampling", "elicitation"}, c) {
			return usagef("--client-capability is roots, sampling or elicitation, got `%s`", c)
		}
	}
	if err := f.confine.check(cmd); err != nil {
		return err
	}
	switch {
	case f.confine.confine && f.url != "":
		return usagef("--confine only applies to a server that is started")
	case f.timeout <= 0:
		return usagef("--timeout must be more than 0")
	case f.url != "" && len(args) > 0:
		return usagef("%s takes either --url or a command, not both", commandName(cmd))
	case f.url == "" && len(f.headers) > 0:
		return usagef("--header only applies with --url")
	case f.url == "":
		return childCommand(cmd, args)
	}
	return nil
}

// header reads the values of the headers from the environment.
func (f *captureFlags) header() (http.Header, error) {
	h := http.Header{}
	for _, spec := range f.headers {
		name, variable, ok := strings.Cut(spec, "=")
		if !ok || name == "" || variable == "" {
			return nil, usagef("--header is NAME=VARIABLE, the name of an environment variable")
		}
		value, set := os.LookupEnv(variable)
		if !set {
			return nil, usagef("--header %s: the environment variable it names is not set", report.SafeText(name))
		}
		if !headerName(name) || strings.ContainsAny(value, "\r\n\x00") {
			return nil, usagef("--header %s: no header can be made of it", report.SafeText(name))
		}
		h.Add(name, value)
	}
	return h, nil
}

// headerName reports a token of RFC 9110, section 5.6.2.
func headerName(s string) bool {
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
}

// capturedIn contains the server of a capture. It implements [lock.Confiner].
type capturedIn struct{ *confinement }

// Await implements [lock.Confiner].
func (c capturedIn) Await() error {
	_, err := c.confinement.Await()
	return err
}

// close gives back what the start held. What may be left is a temporary directory.
func (c capturedIn) close() {
	if c.launch != nil {
		_ = c.launch.Close()
	}
}

// explain prints what would be granted, and asks nobody.
func (f *captureFlags) explain(s streams, argv []string) error {
	plan, err := f.confine.plan(argv)
	if err != nil {
		return guardError(err)
	}
	return explained(s.out, plan, false)
}

// confiner is what contains the server, nil if nothing does.
func (f *captureFlags) confiner(s streams, argv []string, ours []confine.Protected) (*capturedIn, error) {
	plan, err := f.confine.plan(argv, ours...)
	if plan == nil || err != nil {
		return nil, err
	}
	return &capturedIn{&confinement{plan: plan, enforced: func(r *confine.Report) error {
		return f.confine.enforced(r, "", s.err, "aegis")
	}}}, nil
}

// surface asks the server, which must not get at files of ours. What goes wrong
// ends with 2.
func (f *captureFlags) surface(s streams, argv []string, ours ...confine.Protected) (*lock.Surface, error) {
	header, err := f.header()
	if err != nil {
		return nil, err
	}
	contained, err := f.confiner(s, argv, ours)
	if err != nil {
		return nil, guardError(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), endingSignals...)
	defer stop()
	progress, clear := captureProgress(s.err)
	o := lock.CaptureOptions{
		Timeout: f.timeout, ClientVersion: versionString(), ClientCapabilities: f.capabilities, Header: header, Progress: progress,
	}
	if contained != nil {
		o.Confiner = contained
		defer contained.close()
	}
	var surface *lock.Surface
	if f.url != "" {
		surface, err = lock.CaptureHTTP(ctx, f.url, o)
	} else {
		surface, err = lock.CaptureStdio(ctx, argv, o)
	}
	clear()
	if err != nil {
		if ctx.Err() != nil {
			return nil, &exitError{2, errors.New("interrupted; nothing was written")}
		}
		list := &listError{head: err.Error()}
		if c, ok := errors.AsType[*lock.CaptureError](err); ok && len(c.Stderr) > 0 {
			list.faults = append([]string{"the last the server wrote to its standard error:"}, c.Stderr...)
		}
		return nil, &exitError{2, list}
	}
	return surface, nil
}

// captureProgress shows on a terminal how many entries there are, once a
// capture takes its time.
func captureProgress(w io.Writer) (progress func(int), clear func()) {
	if !isTerminal(w) {
		return nil, func() {}
	}
	begun, told := time.Now(), time.Time{}
	progress = func(items int) {
		if now := time.Now(); now.Sub(begun) > time.Second && now.Sub(told) > 200*time.Millisecond {
			told = now
			fmt.Fprintf(w, "\rlisted: %d", items)
		}
	}
	return progress, func() {
		if !told.IsZero() {
			fmt.Fprint(w, "\r\x1b[K")
		}
	}
}
