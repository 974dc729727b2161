package sql

import "strings"

// SQLite's pragmas that only read (its manual's list of pragmas). queries read
// whatever their argument is, which names a table, an index or a limit; values
// read when they have none. Every other one is taken to set.
var (
	pragmaQueries = wordSet(`table_info table_xinfo table_list index_list index_info index_xinfo foreign_key_list
		foreign_key_check integrity_check quick_check database_list function_list module_list pragma_list collation_list
		compile_options stats`)
	pragmaValues = wordSet(`user_version application_id schema_version data_version encoding page_size page_count
		freelist_count max_page_count journal_mode journal_size_limit foreign_keys cache_size cache_spill synchronous
		auto_vacuum busy_timeout temp_store locking_mode mmap_size query_only recursive_triggers secure_delete
		wal_autocheckpoint threads analysis_limit automatic_index cell_size_check checkpoint_fullfsync
		defer_foreign_keys fullfsync hard_heap_limit soft_heap_limit ignore_check_constraints legacy_alter_table
		legacy_file_format read_uncommitted reverse_unordered_selects trusted_schema writable_schema`)
)

// listed says whether a set holds a name in any case.
func listed(set map[string]struct{}, name string) bool {
	_, found := set[strings.ToLower(name)]
	return found
}

func wordSet(names string) map[string]struct{} {
	set := map[string]struct{}{}
	for name := range strings.FieldsSeq(names) {
		set[name] = struct{}{}
	}
	return set
}

const pragmaTablePrefix = "pragma_"

// pragmaTable says whether a name is a table of a pragma that may set, such as
// pragma_journal_mode.
func pragmaTable(name string) bool {
	if len(name) <= len(pragmaTablePrefix) || !strings.EqualFold(name[:len(pragmaTablePrefix)], pragmaTablePrefix) {
		return false
	}
	return !listed(pragmaQueries, name[len(pragmaTablePrefix):])
}

// pragma reads SQLite's PRAGMA: [schema.]name [= value | (value)].
func (r *reader) pragma(s []token, head int) {
	i := head + 1
	if i+1 < len(s) && s[i].kind <= tokenString && s[i+1].kind == tokenDot {
		i += 2
	}
	if i >= len(s) || s[i].kind > tokenString {
		r.refuse(faultPragma)
		return
	}
	name := r.nameOf(s[i])
	queries, values := listed(pragmaQueries, name), listed(pragmaValues, name)
	bare := i+1 == len(s)
	argument := !bare && (s[i+1].kind == tokenOpen && s[len(s)-1].kind == tokenClose || r.is(s, i+1, '='))
	switch {
	case bare && (queries || values), argument && queries:
		r.kinds.add(kindPragma)
	case bare, argument:
		r.kinds.add(kindPragmaSet)
	default:
		r.refuse(faultPragma)
	}
}
