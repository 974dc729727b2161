package inspect

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// seedDomains are hosts that collect data for whoever asks, from the guard
// contract. One with a path is meant only in a URL whose path begins so.
var seedDomains = []string{
	"ngrok.io", "ngrok-free.app", "ngrok.app",
	"pastebin.com", "paste.ee", "dpaste.com", "hastebin.com", "ghostbin.com",
	"transfer.sh", "file.io", "0x0.st", "temp.sh", "oshi.at",
	"requestbin.com", "requestbin.net", "pipedream.net", "webhook.site", "beeceptor.com", "hookbin.com",
	"burpcollaborator.net", "oast.fun", "oast.live", "oast.pro", "oast.site", "interact.sh", "canarytokens.com",
	"serveo.net", "localhost.run", "localtunnel.me", "loca.lt",
	"discord.com/api/webhooks", "discordapp.com/api/webhooks",
}

// seedPhrases are the contract's injection phrases.
var seedPhrases = []string{
	"ignore previous instructions", "ignore all previous instructions",
	"disregard previous instructions", "disregard all previous instructions",
	"ignore the above instructions", "forget previous instructions", "forget all prior instructions",
	"you are now", "from now on you are", "new instructions:", "system prompt:",
	"override your instructions", "disregard your system prompt",
	"do not tell the user", "do not mention this to the user", "without telling the user",
	"reveal your system prompt", "print your system prompt", "exfiltrate", "send the following to",
}

const (
	maxListEntries = 10000
	maxListEntry   = 512 // bytes
)

// readList reads one entry a line. Blank lines and lines that begin with `#`
// are skipped. An error names the file and the line.
func readList(name string, r io.Reader, check func(string) error) ([]string, error) {
	var out []string
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		entry := strings.TrimSpace(lines.Text())
		if n == 1 {
			entry = strings.TrimPrefix(entry, "\ufeff")
		}
		if entry == "" || entry[0] == '#' {
			continue
		}
		if err := check(entry); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		if out = append(out, entry); len(out) > maxListEntries {
			return nil, fmt.Errorf("%s:%d: more than %d entries", name, n, maxListEntries)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return out, nil
}

// ReadDomains reads a list of exfil domains, the file of --exfil-denylist, one
// domain a line, with a path if it is meant only under that path. name is used
// in errors, which carry the line number.
func ReadDomains(name string, r io.Reader) ([]string, error) { return readList(name, r, checkDomain) }

// ReadPhrases reads a list of exact phrases, the file of --inject-phrases or
// --block-inject-phrase-only, one phrase a line. name is used in errors, which
// carry the line number.
func ReadPhrases(name string, r io.Reader) ([]string, error) { return readList(name, r, checkPhrase) }

func checkDomain(entry string) error {
	host, _, _ := strings.Cut(entry, "/")
	if strings.Contains(entry, "://") {
		return fmt.Errorf("a domain is written without a scheme")
	}
	if len(host) < 4 || len(host) > 253 || !strings.Contains(host, ".") || host[0] == '.' || strings.Contains(host, "..") {
		return fmt.Errorf("not a domain: an entry is an exact domain such as example.com, and covers what is below it")
	}
	for _, c := range []byte(host) {
		if hostByte[c] == 0 {
			return fmt.Errorf("not a domain: letters, digits, '-' and '.' only (no patterns; write international names as A-labels)")
		}
	}
	return nil
}

func checkPhrase(entry string) error {
	switch {
	case !utf8.ValidString(entry):
		return fmt.Errorf("a phrase must be UTF-8")
	case len(entry) > maxListEntry:
		return fmt.Errorf("a phrase has at most %d bytes", maxListEntry)
	case utf8.RuneCountInString(normalPhrase(entry)) < 4:
		return fmt.Errorf("a phrase has four characters or more")
	}
	return nil
}

// normalPhrase is a phrase as it is compared: small letters, single spaces.
func normalPhrase(s string) string {
	return strings.Join(strings.FieldsFunc(strings.Map(foldRune, s), unicode.IsSpace), " ")
}

// foldRune is the smallest-case member of r's simple-folding orbit that a
// comparison uses: its lower case, and the ASCII letter for the two code points
// outside of ASCII that fold to one.
func foldRune(r rune) rune {
	switch r {
	case 'ſ':
		return 's'
	case '\u212a':
		return 'k'
	}
	return unicode.ToLower(r)
}
