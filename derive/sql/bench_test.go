package sql_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aegis-aar/aegis/derive/sql"
)

// oneKiB is a query of 1 KiB; each %s is where dialects may differ.
func oneKiB(name string) string {
	q := "SELECT u.id, " + name + ", COUNT(o.id) AS n FROM users u LEFT JOIN orders o ON o.user_id = u.id WHERE u.created_at > '2024-01-01' " +
		"AND u.status IN ('active','trial') GROUP BY u.id, u.name HAVING COUNT(o.id) > 3 "
	return q + strings.Repeat("UNION ALL "+q, 1024/len(q)-1)
}

func BenchmarkRead(b *testing.B) {
	for _, c := range []struct {
		name, text string
		dialect    sql.Dialect
	}{
		{"short/any", "SELECT * FROM users WHERE id = 42", sql.Any},
		{"1KiB/postgres", oneKiB("u.name"), sql.Postgres},
		{"1KiB/mysql", oneKiB("`name`"), sql.MySQL},
		{"1KiB/any, all agree", oneKiB("u.name"), sql.Any},
		{"1KiB/any, read by each", oneKiB("`name`"), sql.Any},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(c.text)))
			for b.Loop() {
				if r := sql.Read(c.text, c.dialect); r.Fault != "" {
					b.Fatal(r.Fault)
				}
			}
		})
	}
}

// BenchmarkReadDoubling has the time a byte stay flat as the text doubles, for
// what gets far before it is refused.
func BenchmarkReadDoubling(b *testing.B) {
	for name, piece := range map[string]string{
		"names":      "a ",
		"open":       "(",
		"comments":   "/*",
		"stars":      "*/ /*",
		"backslash":  `\\'`,
		"backslash2": `'\\\\\\`,
		"quotes":     "''",
		"dollars":    "$a$ $b",
		"dollars2":   "$$a$",
		"lines":      "\nGO ",
		"blanks":     "  :",
		"dots":       "a.",
		"dots2":      ".a(",
		"with":       "WITH a AS (SELECT 1) ",
		"explain":    "EXPLAIN (a) ",
		"stacked":    "SELECT 1;",
		"implicit":   "SELECT 1 ",
		"brackets":   "[]]",
		"stars2":     "* ",
		"E":          "E'a'\n",
		"hint":       "/*+ set_va */",
	} {
		for n := 1 << 16; n <= 1<<19; n *= 2 {
			text := "SELECT " + strings.Repeat(piece, n/len(piece))
			for _, d := range everyDialect {
				b.Run(fmt.Sprintf("%s/%s/%d", name, d, n), func(b *testing.B) {
					b.SetBytes(int64(len(text)))
					for b.Loop() {
						sql.Read(text, d)
					}
				})
			}
		}
	}
}
