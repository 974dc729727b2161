package secret_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/aegis-aar/aegis/internal/secret"
	"github.com/aegis-aar/aegis/internal/secret/secrettest"
)

// TestFreshTokens finds a token of every vendor's shape whole, whatever stands
// before and after it, and by its own rule.
func TestFreshTokens(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		for _, token := range secrettest.Tokens(r) {
			before := strings.Repeat("plain words, ", rapid.IntRange(0, 9).Draw(t, "words")) +
				rapid.SampledFrom([]string{"", " ", "\n", "key: ", "\"", "(", `\n`, "é", "'", ","}).Draw(t, "before")
			after := rapid.SampledFrom([]string{"", " ", "\n", "\"", ")", ",", "é", ". Then", "'", ";"}).Draw(t, "after")
			text := before + token.Text + after
			var got []string
			found := false
			for _, m := range secret.Find([]byte(text)) {
				got = append(got, m.Rule.ID+" "+text[m.Start:m.End])
				found = found || m.Rule.ID == token.Rule && m.Start <= len(before)+len("https://") && m.End >= len(before)+len(token.Text)
			}
			if !found {
				t.Fatalf("%s in %q: got %q", token.Kind, text, got)
			}
		}
	})
}

func TestContractShapes(t *testing.T) {
	t.Parallel()
	body := "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
	for _, test := range []struct {
		text string
		want string // rules, without their prefix
	}{
		{"sk-" + body[:20], "OPENAI"},
		{"sk-" + body[:19], ""},
		{"ghp_" + body, "GITHUB"},
		{"ghp_" + body + "S", "ENTROPY"}, // one too many
		{"ghp_" + body[:35], "ENTROPY"},
		{"AKIAIOSFODNN7EXAMPLE", "AWS-AKID"},
		{"AKIAIOSFODNN7EXAMPLEX", ""},
		{"xAKIAIOSFODNN7EXAMPLE", ""},
		{`\nAKIAIOSFODNN7EXAMPLE`, "AWS-AKID"}, // source code
		{"xoxb-1234567890", "SLACK"},
		{"xoxe-1234567890", ""},
		{"-----BEGIN PUBLIC KEY-----", ""},
		{"-----BEGIN PRIVATE KEY-----", "PRIVKEY"},
		{"-----BEGIN RSA PRIVATE KEY-----\nMIIB", "PRIVKEY"},
		{"postgres://app:" + body + "@db/x", "ENTROPY"},
	} {
		if got := rulesIn(test.text); got != test.want {
			t.Errorf("%q: %q, want %q", test.text, got, test.want)
		}
	}
}

func TestAssign(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	for range 50 {
		value := secrettest.Password(r, 16)
		for _, form := range []string{
			"password = %s", "password=%s", `"password": "%s"`, `\"password\": \"%s\"`, "PASSWORD: %s", "DB_PASSWORD=%s", "api_key = '%s'", "apiKey: \"%s\"",
			"client_secret=%s", "--token=%s", "X-Api-Key: %s", "Authorization: Bearer %s", "aws_secret_access_key = %s", "export NPM_TOKEN=%s",
		} {
			text := fmt.Sprintf(form, value)
			if got := rulesIn(text); got != "ASSIGN" && got != "ENTROPY" {
				t.Errorf("%s: %q, want ASSIGN", text, got)
			}
		}
		if m := secret.FindValue([]byte("dbPassword"), []byte(value)); len(m) != 1 || m[0].Rule.ID != "WRD-SEC-ASSIGN" {
			t.Errorf("a member dbPassword of %q: %v", value, m)
		}
	}
	for _, text := range []string{
		"password: REDACTED", "api_key=<your key>", "MONGO_PASSWORD_FILE=/run/secrets/db_user", "password = user.PasswordHash1", "token := lexer.next2Token()",
		"password=${DB_PASSWORD_2}", "secret: {{ vault.Secret1 }}", "token=process.env.TOKEN_1", "password = \"xxxxxxxxxxxx1A\"", "max_tokens: 123456789012345",
		"nextPageToken: \"Q2pNS0xxZ1hYcT\"", "tokenizationId: 9f86d081884c7d659a2feaa0c55ad015", "if password == correctPassword1 {", "PASS: binutils-all/x86-64/pr23494a-x32",
		"The password is checked twice.", "password: the one you chose in step 3",
	} {
		if got := rulesIn(text); got != "" {
			t.Errorf("%s: %q, want nothing", text, got)
		}
	}
}

// TestPublicShapes holds what looks random and is public.
func TestPublicShapes(t *testing.T) {
	t.Parallel()
	const b64 = "Vt4lqj8HBSa+TImW5JCeuQeRkm5NMpJWZG3hSuFU0kX7"
	for _, text := range []string{
		"integrity sha512-" + b64 + b64[:42] + "==", "golang.org/x/mod v0.1.0 h1:" + b64[:43] + "=", "SHA256:" + b64[:43],
		"commit 3b18e512dba79e4c8300dd08aeb37f8e728b8dad", "id 123e4567-e89b-12d3-a456-426614174000", `"tokenizationId": "9f86d081884c7d659a2feaa0c55ad015"`,
		"getUserAccountInformationByIdentifierFromTheRemoteDirectory", "/mnt/vault/logs/2026-04-13-unit-AE1.md", "/usr/lib/python3/dist-packages/AbCdEf",
		"data:image/png;base64," + b64, "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + b64[:31], `"node_id": "` + b64[:28] + `"`, `"nextCursor":"` + b64 + `"`,
		"https://docs.example.com/d/" + b64[:9] + "QmZ4kT8wXyL2pN7vRc5s/edit?x=Zk9Lm3Qw8Xv2Bn7Rt5Yp",
		"-----BEGIN CERTIFICATE-----\n" + b64 + "AbC1\n-----END CERTIFICATE-----", "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n" + b64 + "\n-----END PGP PUBLIC KEY BLOCK-----",
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", "v0.0.0-20170915032832-14c0d48ead0c/go.mod", "libgdk-pixbuf-xlib-2.0-dev_2.40.2-2_amd64.deb",
	} {
		if got := rulesIn(text); got != "" {
			t.Errorf("%s: %q, want nothing", text, got)
		}
	}
}

// TestRandomTokens says how much of what is random the exemptions let through:
// less than one in fifty of forty characters.
func TestRandomTokens(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	const n = 5000
	missed := 0
	for range n {
		if rulesIn("value "+secrettest.Password(r, 40)) == "" {
			missed++
		}
	}
	if missed > n/50 {
		t.Errorf("%d of %d random tokens missed", missed, n)
	}
}

func TestRedact(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "(len<=3)", "abc": "(len<=3)", "abcd": "ab…(len=4)", "abcdefg": "abc…(len=7)", "abcdefgh": "abcd…(len=8)", "éèêëabcd": "éèêë…(len=8)",
	} {
		if got := secret.Redact(in); got != want {
			t.Errorf("Redact(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestRedactAllLeavesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tokens := secrettest.Tokens(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2)))
		var text strings.Builder
		for range rapid.IntRange(1, 6).Draw(t, "n") {
			text.WriteString(rapid.SampledFrom(tokens).Draw(t, "token").Text)
			text.WriteString(rapid.SampledFrom([]string{" ", "\n", "/", "=", ", password="}).Draw(t, "between"))
		}
		redacted, hit := secret.RedactAll(text.String())
		if !hit {
			t.Fatalf("no hit in %q", text.String())
		}
		if found := secret.Find([]byte(redacted)); found != nil {
			t.Fatalf("%q still holds %v", redacted, found)
		}
	})
}

func TestCleanTextCostsNothing(t *testing.T) {
	text := []byte(strings.Repeat("The server read forty files from /srv/archive; user_token_count: 12, id=7.\n", 40))
	if n := testing.AllocsPerRun(100, func() {
		if secret.Find(text) != nil {
			t.Fatal("not clean")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func rulesIn(text string) string {
	var out []string
	for _, m := range secret.Find([]byte(text)) {
		out = append(out, strings.TrimPrefix(m.Rule.ID, "WRD-SEC-"))
	}
	return strings.Join(out, " ")
}

func FuzzSecretFind(f *testing.F) {
	for _, token := range secrettest.Tokens(rand.New(rand.NewPCG(1, 1))) {
		f.Add([]byte("a "+token.Text+" b"), "name")
	}
	f.Add([]byte("password='x\\"), "token")
	f.Add([]byte("-----BEGIN -----END ://@base64,"), "")
	f.Fuzz(func(t *testing.T, text []byte, name string) {
		last := 0
		for _, m := range secret.FindValue([]byte(name), text) {
			if m.Start < last || m.End <= m.Start || m.End > len(text) || m.Rule == nil {
				t.Fatalf("match %v after %d of %d bytes", m, last, len(text))
			}
			last = m.End
		}
	})
}

func FuzzRedact(f *testing.F) {
	for _, token := range secrettest.Tokens(rand.New(rand.NewPCG(1, 1))) {
		f.Add("a " + token.Text + " b")
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return
		}
		redacted, hit := secret.RedactAll(text)
		if !hit && redacted != text {
			t.Fatal("changed without a hit")
		}
		if secret.Find([]byte(redacted)) != nil {
			t.Fatalf("%q still holds a secret", redacted)
		}
		if one := secret.Redact(text); utf8.RuneCountInString(one) > 4+len("…(len=)")+20 {
			t.Fatalf("Redact shows %q", one)
		}
	})
}

func BenchmarkFind(b *testing.B) {
	text := []byte(strings.Repeat("The server read forty files from the archive and found the report that was asked for.\n", 800))
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		secret.Find(text)
	}
}
