package sql

// word is a keyword that decides something here, as an index into words. The
// zero word is every other one.
type word uint8

// keyword says what a word can be at the start of a statement.
type keyword struct {
	text string // in lower case
	kind kind   // of a statement that begins with it, kindNone if none does

	// starts: behind a whole expression it begins the next statement in T-SQL,
	// which needs no separator. Most of these are reserved there.
	starts bool
	// clause: reserved in T-SQL and never the end of an expression or a clause.
	clause bool
}

const (
	_ word = iota
	wSelect
	wWith
	wValues
	wTable
	wShow
	wDescribe
	wDesc
	wExplain
	wPragma
	wInsert
	wUpsert
	wUpdate
	wDelete
	wMerge
	wReplace
	wCopy
	wLoad
	wBulk
	wImport
	wExport
	wHandler
	wCreate
	wAlter
	wDrop
	wTruncate
	wRename
	wComment
	wRefresh
	wReindex
	wCluster
	wVacuum
	wAnalyze
	wAnalyse
	wOptimize
	wRepair
	wCheck
	wChecksum
	wAttach
	wDetach
	wGrant
	wRevoke
	wDeny
	wReassign
	wSecurity
	wBegin
	wCommit
	wEnd
	wRollback
	wAbort
	wSavepoint
	wSave
	wRelease
	wLock
	wUnlock
	wXA
	wCall
	wDo
	wPrepare
	wExecute
	wExec
	wDeallocate
	wDeclare
	wOpen
	wFetch
	wMove
	wClose
	wListen
	wUnlisten
	wNotify
	wDiscard
	wSet
	wReset
	wUse
	wCheckpoint
	wKill
	wShutdown
	wRestart
	wFlush
	wPurge
	wInstall
	wUninstall
	wChange
	wStart
	wStop
	wClone
	wBinlog
	wBackup
	wRestore
	wDbcc
	wReconfigure
	wRevert
	wSetuser
	wDump
	wReadtext
	wWritetext
	wUpdatetext
	wIf
	wWhile
	wReturn
	wGoto
	wBreak
	wContinue
	wPrint
	wRaiserror
	wThrow
	wWaitfor
	wSignal
	wResignal
	wEnable
	wDisable
	wReceive
	wSend

	wInto
	wOutfile
	wDumpfile
	wFor
	wShare
	wKey
	wNo
	wIn
	wAs
	wSearch
	wCycle
	wQuery
	wPlan
	wVerbose
	wExtended
	wPartitions
	wFormat
	wConnection
	wSchema
	wDatabase
	wFalse
	wOff
	wOn
	wDuplicate
	wThen
	wElse
	wAtomic
	wLoop
	wAlso
	wInstead
	wRow
	wRows
	wStatement
	wOr
	wNext
	wFirst
	wValue
	wUescape
	wIndex
	wView
	wProcedure
	wFunction
	wTrigger
	wCharacter
	wAfter
	wBefore
	wOf
	wData
	wXML
	wGo
	wUnion
	wExcept
	wIntersect
	wAll
	wDistinct
	wTop
	wFrom
	wWhere
	wAnd
	wNot
	wBy
	wHaving
	wJoin
	wInner
	wLeft
	wRight
	wFull
	wOuter
	wCross
	wLike
	wBetween
	wIs
	wCase
	wWhen
	wGroup
	wOrder
	wExists
	wAny
	wSome
	wEscape

	wordCount
)

var words = [wordCount]keyword{
	wSelect:      {"select", kindSelect, true, true},
	wWith:        {"with", kindWith, false, true},
	wValues:      {"values", kindValues, false, true},
	wTable:       {"table", kindTable, false, false},
	wShow:        {"show", kindShow, false, false},
	wDescribe:    {"describe", kindDescribe, false, false},
	wDesc:        {"desc", kindDescribe, false, false},
	wExplain:     {"explain", kindExplain, false, false},
	wPragma:      {"pragma", kindPragma, false, false},
	wInsert:      {"insert", kindInsert, true, false},
	wUpsert:      {"upsert", kindUpsert, false, false},
	wUpdate:      {"update", kindUpdate, true, false},
	wDelete:      {"delete", kindDelete, true, false},
	wMerge:       {"merge", kindMerge, true, false},
	wReplace:     {"replace", kindReplace, false, false},
	wCopy:        {"copy", kindCopy, false, false},
	wLoad:        {"load", kindLoad, true, false},
	wBulk:        {"bulk", kindBulkInsert, true, false},
	wImport:      {"import", kindImport, false, false},
	wExport:      {"export", kindExport, false, false},
	wHandler:     {"handler", kindHandler, false, false},
	wCreate:      {"create", kindCreate, true, false},
	wAlter:       {"alter", kindAlter, true, false},
	wDrop:        {"drop", kindDrop, true, false},
	wTruncate:    {"truncate", kindTruncate, true, false},
	wRename:      {"rename", kindRename, false, false},
	wComment:     {"comment", kindComment, false, false},
	wRefresh:     {"refresh", kindRefresh, false, false},
	wReindex:     {"reindex", kindReindex, false, false},
	wCluster:     {"cluster", kindCluster, false, false},
	wVacuum:      {"vacuum", kindVacuum, false, false},
	wAnalyze:     {"analyze", kindAnalyze, false, false},
	wAnalyse:     {"analyse", kindAnalyze, false, false},
	wOptimize:    {"optimize", kindOptimize, false, false},
	wRepair:      {"repair", kindRepair, false, false},
	wCheck:       {"check", kindCheck, false, false},
	wChecksum:    {"checksum", kindChecksum, false, false},
	wAttach:      {"attach", kindAttach, false, false},
	wDetach:      {"detach", kindDetach, false, false},
	wGrant:       {"grant", kindGrant, true, false},
	wRevoke:      {"revoke", kindRevoke, true, false},
	wDeny:        {"deny", kindDeny, true, false},
	wReassign:    {"reassign", kindReassign, false, false},
	wSecurity:    {"security", kindSecurity, false, false},
	wBegin:       {"begin", kindBegin, true, false},
	wCommit:      {"commit", kindCommit, true, false},
	wEnd:         {"end", kindCommit, false, false},
	wRollback:    {"rollback", kindRollback, true, false},
	wAbort:       {"abort", kindRollback, false, false},
	wSavepoint:   {"savepoint", kindSavepoint, false, false},
	wSave:        {"save", kindSavepoint, true, false},
	wRelease:     {"release", kindRelease, false, false},
	wLock:        {"lock", kindLock, false, false},
	wUnlock:      {"unlock", kindUnlock, false, false},
	wXA:          {"xa", kindXA, false, false},
	wCall:        {"call", kindCall, false, false},
	wDo:          {"do", kindDo, false, false},
	wPrepare:     {"prepare", kindPrepare, false, false},
	wExecute:     {"execute", kindExecute, true, false},
	wExec:        {"exec", kindExecute, true, false},
	wDeallocate:  {"deallocate", kindDeallocate, true, false},
	wDeclare:     {"declare", kindDeclare, true, false},
	wOpen:        {"open", kindOpen, true, false},
	wFetch:       {"fetch", kindFetch, true, false},
	wMove:        {"move", kindMove, false, false},
	wClose:       {"close", kindClose, true, false},
	wListen:      {"listen", kindListen, false, false},
	wUnlisten:    {"unlisten", kindUnlisten, false, false},
	wNotify:      {"notify", kindNotify, false, false},
	wDiscard:     {"discard", kindDiscard, false, false},
	wSet:         {"set", kindSet, true, true},
	wReset:       {"reset", kindReset, false, false},
	wUse:         {"use", kindUse, true, false},
	wCheckpoint:  {"checkpoint", kindCheckpoint, true, false},
	wKill:        {"kill", kindKill, true, false},
	wShutdown:    {"shutdown", kindShutdown, true, false},
	wRestart:     {"restart", kindRestart, false, false},
	wFlush:       {"flush", kindFlush, false, false},
	wPurge:       {"purge", kindPurge, false, false},
	wInstall:     {"install", kindInstall, false, false},
	wUninstall:   {"uninstall", kindUninstall, false, false},
	wChange:      {"change", kindChange, false, false},
	wStart:       {"start", kindStart, false, false},
	wStop:        {"stop", kindStop, false, false},
	wClone:       {"clone", kindClone, false, false},
	wBinlog:      {"binlog", kindBinlog, false, false},
	wBackup:      {"backup", kindBackup, true, false},
	wRestore:     {"restore", kindRestore, true, false},
	wDbcc:        {"dbcc", kindDbcc, true, false},
	wReconfigure: {"reconfigure", kindReconfigure, true, false},
	wRevert:      {"revert", kindRevert, true, false},
	wSetuser:     {"setuser", kindSet, true, false},
	wDump:        {"dump", kindBackup, true, false},
	wReadtext:    {"readtext", kindSelect, true, false},
	wWritetext:   {"writetext", kindUpdate, true, false},
	wUpdatetext:  {"updatetext", kindUpdate, true, false},
	wIf:          {"if", kindIf, true, false},
	wWhile:       {"while", kindWhile, true, false},
	wReturn:      {"return", kindReturn, true, false},
	wGoto:        {"goto", kindGoto, true, false},
	wBreak:       {"break", kindReturn, true, false},
	wContinue:    {"continue", kindReturn, true, false},
	wPrint:       {"print", kindPrint, true, false},
	wRaiserror:   {"raiserror", kindRaiserror, true, false},
	wThrow:       {"throw", kindRaiserror, false, false},
	wWaitfor:     {"waitfor", kindWaitfor, true, false},
	wSignal:      {"signal", kindSignal, false, false},
	wResignal:    {"resignal", kindSignal, false, false},
	wEnable:      {"enable", kindAlter, true, false}, // a trigger, as is the next
	wDisable:     {"disable", kindAlter, true, false},
	wReceive:     {"receive", kindDelete, true, false}, // takes messages out of a queue
	wSend:        {"send", kindInsert, true, false},

	wInto:       {text: "into", clause: true},
	wOutfile:    {text: "outfile"},
	wDumpfile:   {text: "dumpfile"},
	wFor:        {text: "for", clause: true},
	wShare:      {text: "share"},
	wKey:        {text: "key"},
	wNo:         {text: "no"},
	wIn:         {text: "in", clause: true},
	wAs:         {text: "as", clause: true},
	wSearch:     {text: "search"},
	wCycle:      {text: "cycle"},
	wQuery:      {text: "query"},
	wPlan:       {text: "plan"},
	wVerbose:    {text: "verbose"},
	wExtended:   {text: "extended"},
	wPartitions: {text: "partitions"},
	wFormat:     {text: "format"},
	wConnection: {text: "connection"},
	wSchema:     {text: "schema"},
	wDatabase:   {text: "database"},
	wFalse:      {text: "false"},
	wOff:        {text: "off"},
	wOn:         {text: "on", clause: true},
	wDuplicate:  {text: "duplicate"},
	wThen:       {text: "then", clause: true},
	wElse:       {text: "else", clause: true},
	wAtomic:     {text: "atomic"},
	wLoop:       {text: "loop"},
	wAlso:       {text: "also"},
	wInstead:    {text: "instead"},
	wRow:        {text: "row"},
	wRows:       {text: "rows"},
	wStatement:  {text: "statement"},
	wOr:         {text: "or", clause: true},
	wNext:       {text: "next"},
	wFirst:      {text: "first"},
	wValue:      {text: "value"},
	wUescape:    {text: "uescape"},
	wIndex:      {text: "index"},
	wView:       {text: "view"},
	wProcedure:  {text: "procedure"},
	wFunction:   {text: "function"},
	wTrigger:    {text: "trigger"},
	wCharacter:  {text: "character"},
	wAfter:      {text: "after"},
	wBefore:     {text: "before"},
	wOf:         {text: "of", clause: true},
	wData:       {text: "data"},
	wXML:        {text: "xml"},
	wGo:         {text: "go"},
	wUnion:      {text: "union", clause: true},
	wExcept:     {text: "except", clause: true},
	wIntersect:  {text: "intersect", clause: true},
	wAll:        {text: "all", clause: true},
	wDistinct:   {text: "distinct", clause: true},
	wTop:        {text: "top", clause: true},
	wFrom:       {text: "from", clause: true},
	wWhere:      {text: "where", clause: true},
	wAnd:        {text: "and", clause: true},
	wNot:        {text: "not", clause: true},
	wBy:         {text: "by", clause: true},
	wHaving:     {text: "having", clause: true},
	wJoin:       {text: "join", clause: true},
	wInner:      {text: "inner", clause: true},
	wLeft:       {text: "left", clause: true},
	wRight:      {text: "right", clause: true},
	wFull:       {text: "full", clause: true},
	wOuter:      {text: "outer", clause: true},
	wCross:      {text: "cross", clause: true},
	wLike:       {text: "like", clause: true},
	wBetween:    {text: "between", clause: true},
	wIs:         {text: "is", clause: true},
	wCase:       {text: "case", clause: true},
	wWhen:       {text: "when", clause: true},
	wGroup:      {text: "group", clause: true},
	wOrder:      {text: "order", clause: true},
	wExists:     {text: "exists", clause: true},
	wAny:        {text: "any", clause: true},
	wSome:       {text: "some", clause: true},
	wEscape:     {text: "escape", clause: true},
}

// The keywords by a hash of their length, first, second and last letter: most
// names of a query meet an empty slot.
const wordSlots = 1 << 11

var (
	wordFirst [wordSlots]word // of each slot, 0 if it has none
	wordNext  [wordCount]word // in the same slot
)

func init() {
	for w := word(1); w < wordCount; w++ {
		slot := wordSlot(words[w].text)
		wordNext[w], wordFirst[slot] = wordFirst[slot], w
	}
}

func wordSlot(text string) int {
	n := len(text)
	return (int(text[0]|0x20)*5 + int(text[1]|0x20)*71 + int(text[n-1]|0x20)*293 + n*1031) % wordSlots
}

// lookup returns the keyword that text spells, in any case, or 0.
func lookup(text string) word {
	if len(text) < 2 {
		return 0
	}
	for w := wordFirst[wordSlot(text)]; w != 0; w = wordNext[w] {
		if spellsFold(text, words[w].text) {
			return w
		}
	}
	return 0
}

// spellsFold says whether text is a word of lower case letters, in any case.
func spellsFold(text, lower string) bool {
	if len(text) != len(lower) {
		return false
	}
	for i := range len(lower) {
		if text[i]|0x20 != lower[i] {
			return false
		}
	}
	return true
}
