package policy

import (
	"strings"
	"unicode/utf8"
)

// nearest returns the one of valid that word was probably meant to be, or "":
// at most a third of its letters wrong, counting a swap of neighbours as one.
func nearest(word string, valid []string) string {
	best, distance := "", 0
	for _, v := range valid {
		d := editDistance(strings.ToLower(word), v)
		if d <= max(1, utf8.RuneCountInString(v)/3) && (best == "" || d < distance) {
			best, distance = v, d
		}
	}
	return best
}

// editDistance is the optimal string alignment distance. A word much longer
// than any key is not measured.
func editDistance(a, b string) int {
	if len(a) > 2*len(b)+8 {
		return len(a)
	}
	x, y := []rune(a), []rune(b)
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(y)]
}
