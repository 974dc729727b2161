// Package secrettest makes tokens of the shapes the secret catalog knows, for
// tests. They are random and belong to nobody; they are put together here so
// that no file holds one.
package secrettest

import (
	"math/rand/v2"
	"strings"
)

const (
	upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	lower  = "abcdefghijklmnopqrstuvwxyz"
	digits = "0123456789"
	alnum  = upper + lower + digits
	url64  = alnum + "-_"
	std64  = alnum + "+/"
)

// Token is a made-up credential.
type Token struct {
	Kind string // such as "github"
	Rule string // the rule that must match it
	Text string
}

// Tokens returns a fresh token of every vendor's shape.
func Tokens(r *rand.Rand) []Token {
	body := func(alphabet string, n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = alphabet[r.IntN(len(alphabet))]
		}
		return string(b)
	}
	// A body that a word boundary follows.
	word := func(alphabet string, n int) string { return body(alphabet, n-1) + body(alnum, 1) }
	out := []Token{
		{"openai", "OPENAI", "sk-" + body(alnum, 48)},
		{"openai-project", "OPENAI", "sk-proj-" + word(url64, 156)},
		{"openai-service", "OPENAI", "sk-svcacct-" + word(url64, 156)},
		{"anthropic", "ANTHROPIC", "sk-ant-" + "api03-" + word(url64, 93) + "AA"},
		{"github", "GITHUB", "ghp" + "_" + body(alnum, 36)},
		{"github-oauth", "GITHUB", "gho" + "_" + body(alnum, 36)},
		{"github-app", "GITHUB", "ghs" + "_" + body(alnum, 36)},
		{"github-fine", "GITHUB", "github" + "_pat_" + body(alnum, 22) + "_" + body(alnum, 59)},
		{"gitlab", "GITLAB", "glpat" + "-" + word(url64, 20)},
		{"gitlab-deploy", "GITLAB", "gldt" + "-" + word(url64, 20)},
		{"aws", "AWS-AKID", "AKIA" + body(upper+digits, 16)},
		{"aws-temporary", "AWS-AKID", "ASIA" + body(upper+digits, 16)},
		{"slack", "SLACK", "xoxb" + "-" + body(digits, 12) + "-" + body(digits, 12) + "-" + body(alnum, 24)},
		{"slack-app", "SLACK", "xapp" + "-1-A" + body(upper+digits, 10) + "-" + body(digits, 13) + "-" + body(lower+digits, 64)},
		{"slack-webhook", "SLACK", "https://hooks.slack.com/services/" + "T" + body(upper+digits, 10) + "/B" + body(upper+digits, 10) + "/" + body(alnum, 24)},
		{"google", "GOOGLE", "AIza" + word(url64, 35)},
		{"google-oauth", "GOOGLE", "GOCSPX" + "-" + word(url64, 28)},
		{"stripe", "STRIPE", "sk" + "_live_" + body(alnum, 24)},
		{"stripe-restricted", "STRIPE", "rk" + "_test_" + body(alnum, 99)},
		{"npm", "NPM", "npm" + "_" + body(alnum, 36)},
		{"azure-storage", "AZURE", "AccountKey=" + body(std64, 86) + "=="},
		{"azure-client", "AZURE", body(alnum, 3) + "8Q~" + word(alnum+"_.~-", 34)},
		{"azure-signed", "AZURE", body(alnum, 52) + "JQQJ" + "99" + body(alnum, 26)},
		{"azure-devops", "AZURE", body(alnum, 76) + "AZ" + "DO" + body(alnum, 4)},
		{"jwt", "JWT", "eyJ" + body(url64, 33) + "." + "eyJ" + body(url64, 60) + "." + word(url64, 43)},
	}
	for _, kind := range []string{"", "RSA ", "EC ", "OPENSSH ", "DSA "} {
		out = append(out, Token{"pem " + strings.TrimSpace(kind), "PRIVKEY",
			"-----BEGIN " + kind + "PRIVATE KEY-----\n" + body(std64, 64) + "\n" + body(std64, 40) + "\n-----END " + kind + "PRIVATE KEY-----"})
	}
	out = append(out, Token{"pgp", "PRIVKEY", "-----BEGIN PGP " + "PRIVATE KEY BLOCK-----\n\n" + body(std64, 64) + "\n=" + body(std64, 4) + "\n-----END PGP PRIVATE KEY BLOCK-----"})
	for i := range out {
		out[i].Rule = "WRD-SEC-" + out[i].Rule
	}
	return out
}

// Password returns n random letters and digits, at least one of each.
func Password(r *rand.Rand, n int) string {
	for {
		b := make([]byte, n)
		for i := range b {
			b[i] = alnum[r.IntN(len(alnum))]
		}
		if s := string(b); strings.ContainsAny(s, digits) && strings.ContainsAny(s, lower) && strings.ContainsAny(s, upper) {
			return s
		}
	}
}
