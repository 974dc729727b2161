package ci

import (
	"os"
	"regexp"
	"testing"

	"github.com/aegis-aar/aegis/lock"
)

// The table of the lock's page has every class of drift, with its severity, and
// no other.
func TestDocumentedDriftClasses(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/lock.md")
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\| (critical|high|medium|low) \\|").FindAllSubmatch(text, -1) {
		told[string(row[1])] = string(row[2])
	}
	for _, class := range lock.Classes() {
		if told[class] != lock.SeverityOf(class) {
			t.Errorf("%s is %s, documented as %q", class, lock.SeverityOf(class), told[class])
		}
		delete(told, class)
	}
	for class := range told {
		t.Errorf("%s is documented and no class", class)
	}
}
