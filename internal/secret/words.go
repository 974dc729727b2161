package secret

// pairs holds, for each letter, the letters that often follow it within a word:
// the two hundred commonest pairs of the words and identifiers of manual pages,
// Go, Python and JavaScript sources, each distinct word counted by the
// logarithm of its frequency. They make up over four fifths of the pairs of
// words, and three tenths of those of random letters.
var pairs = func() (t [26]uint32) {
	for i, after := range [26]string{
		"bcdgilmnprstuv", "aeilorsu", "acehiklmorst", "adeiors", "acdefglmnprstvx", "abefilors", "eiors", "aeio",
		"abcdefglmnoprstvz", "", "e", "adeilosty", "aeiopsu", "acdefgiost", "cdfglmnoprstuvw", "aeiloprstu",
		"u", "acdeilmorstuy", "acehiloprstuy", "acehiloprstuy", "bilmnprst", "aeip", "a", "t", "p", "e",
	} {
		for _, c := range []byte(after) {
			t[i] |= 1 << (c - 'a')
		}
	}
	return
}()

// wordy reports whether token is made of words, as identifiers and paths are:
// most pairs of neighbouring letters are common ones and the changes between
// small letters, capitals and digits are few, or they are very few.
func wordy(token []byte) bool {
	letters, common, alnum, chunks := 0, 0, 0, 0
	var last uint8
	for i, c := range token {
		k := class[c] & clAlnum
		if k == 0 {
			last = 0
			continue
		}
		alnum++
		if i > 0 && k&clDigit == 0 && class[token[i-1]]&(clLower|clUpper) != 0 {
			letters++
			if pairs[token[i-1]|0x20-'a']>>(c|0x20-'a')&1 != 0 {
				common++
			}
		}
		// A capital and the small letters after it are one chunk.
		if k != last && !(k == clLower && last == clUpper) {
			chunks++
		}
		last = k
	}
	if chunks == 0 {
		return true
	}
	return alnum >= 4*chunks || len(token) <= 8 && alnum >= 3*chunks ||
		letters*5 >= alnum*2 && common*10 >= letters*6 && alnum*5 >= chunks*13
}

const (
	minOddPiece  = 4  // shorter pieces say nothing
	maxBesideHex = 10 // characters that may stand beside a digest in a piece
	leastHexRun  = 16 // hexadecimal digits that are a digest
	minOdd       = 16 // characters in odd pieces that make a token random
)

// odd counts the characters of token that are in pieces without an explanation.
// Pieces end at punctuation. A number, a digest in hexadecimal, letters of one
// case, words and what is mostly words are explained.
func odd(token []byte) int {
	n := 0
	for i := 0; i < len(token); {
		if class[token[i]]&clAlnum == 0 {
			i++
			continue
		}
		if token[i] == '0' && i+1 < len(token) && token[i+1]|0x20 == 'x' {
			i += len("0x")
		}
		start := i
		var kinds uint64
		for i < len(token) && class[token[i]]&clAlnum != 0 {
			kinds += tallies[token[i]]
			i++
		}
		length := i - start
		letters, digits, capitals, hex := int(kinds&0xffff), int(kinds>>16&0xffff), int(kinds>>32&0xffff), int(kinds>>48)
		explained := length < minOddPiece || letters == 0 || hex == length ||
			digits == 0 && (capitals == 0 || capitals == letters) ||
			wordy(token[start:i]) || 5*inWords(token[start:i]) >= 2*length
		if !explained && (hex < leastHexRun || length-hexRun(token[start:i]) > maxBesideHex) {
			n += length
		}
	}
	return n
}

// inWords counts the characters of piece that are in words: three letters or
// more, small but perhaps for the first or all capitals, of which two thirds of
// the pairs are common.
func inWords(piece []byte) int {
	n := 0
	for i := 0; i < len(piece); {
		start := i
		k := class[piece[i]] & clAlnum
		i++
		if k == clDigit {
			continue
		}
		if k == clUpper && i < len(piece) && class[piece[i]]&clLower != 0 {
			k = clLower
		}
		common := 0
		for i < len(piece) && class[piece[i]]&k != 0 {
			if pairs[piece[i-1]|0x20-'a']>>(piece[i]|0x20-'a')&1 != 0 {
				common++
			}
			i++
		}
		if length := i - start; length >= 3 && 3*common >= 2*(length-1) {
			n += length
		}
	}
	return n
}

// hexRun is the length of the longest run of hexadecimal digits of one
// case in piece, or 0 if none is a digest's.
func hexRun(piece []byte) int {
	longest := 0
	for _, letters := range []uint8{clLower, clUpper} {
		n := 0
		for _, c := range piece {
			if k := class[c]; k&clDigit != 0 || k&letters != 0 && c|0x20 <= 'f' {
				n++
				longest = max(longest, n)
			} else {
				n = 0
			}
		}
	}
	if longest < leastHexRun {
		return 0
	}
	return longest
}
