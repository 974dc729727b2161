package main

import (
	"fmt"
	"os"

	"github.com/aegis-aar/aegis/inspect"
	"github.com/aegis-aar/aegis/inspect/internal/corpus"
)

func main() {
	c, err := inspect.New(inspect.Options{})
	if err != nil {
		panic(err)
	}
	for _, dir := range os.Args[1:] {
		n, blocks, files := 0, 0, 0
		mod := 0
		corpus.Texts(dir, func(path string, text []byte) {
			n += len(text)
			files++
			r := c.Inspect(corpus.Frame(text), inspect.Declaration{}, inspect.Posture{})
			if r.Rewritten != nil {
				mod++
			}
			if r.Block != nil {
				blocks++
				fmt.Printf("%s: %s %s %s | %s\n", path, r.Block.RuleID, r.Block.SubRule, r.Block.Snippet, r.Block.Message)
			}
		})
		fmt.Printf("== %s: %d files, %.1f MiB, %d blocks, %.3f per MiB; %d modified\n", dir, files, float64(n)/(1<<20), blocks, float64(blocks)/(float64(n)/(1<<20)), mod)
	}
}
