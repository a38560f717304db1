# shellcheck shell=bash disable=SC2015,SC2016,SC2034,SC2154 # sourced by test/run, which sets and reads what they share
# A temporary folder with a copy of the source tree, a private copy of the PostgreSQL installation, and a server on a
# socket of its own. No folder, server or database of the system is changed.

# User for what must not run as root (initdb refuses).
sandbox_user() {
	[ "$(id -u)" = 0 ] || return 0
	local user
	for user in "${L4_USER:-}" postgres nobody; do
		if [ -n "$user" ] && id "$user" >/dev/null 2>&1; then
			printf '%s\n' "$user"
			return
		fi
	done
	die "root may not run a server and there is no user postgres or nobody: name one in L4_USER"
}

# as_user COMMAND...: as the unprivileged user, in the copied tree, with the private server in the environment.
as_user() {
	local settings=(
		"HOME=$box" "TMPDIR=$box/tmp" "PATH=$bin:$PATH" "PG_CONFIG=$bin/pg_config" "LC_ALL=C.UTF-8" "PGHOST=$socket" "PGPORT=5432"
		"PGDATABASE=postgres" "PGOPTIONS=" "PSQLRC=/dev/null")
	if [ -n "$user" ]; then
		(cd "$box/tree" && runuser -u "$user" -- env -u PGUSER -u MAKEFLAGS -u MAKELEVEL "${settings[@]}" "$@")
	else
		(cd "$box/tree" && env -u PGUSER -u MAKEFLAGS -u MAKELEVEL "${settings[@]}" "$@")
	fi
}

sandbox_remove() {
	local status=$?
	trap - EXIT INT TERM
	if [ -f "$box/data/postmaster.pid" ]; then
		as_user pg_ctl -D "$box/data" -m immediate -s stop || true
	fi
	if [ -n "${KEEP:-}" ]; then
		say "Kept: $box"
	else
		rm -rf "$box"
	fi
	exit "$status"
}

# The tree as it is in the working folder: what git tracks or would track, else everything.
copy_tree() {
	cd "$top" || exit
	if git -c safe.directory='*' rev-parse --is-inside-work-tree >/dev/null 2>&1; then
		git -c safe.directory='*' ls-files -z --cached --others --exclude-standard |
			while IFS= read -r -d '' file; do [ ! -e "$file" ] || printf '%s\0' "$file"; done | tar --null -T - -cf -
	else
		tar --exclude='*.o' --exclude='*.so' --exclude='*.bc' -cf - .
	fi | tar -C "$box/tree" -xf -
}

# PostgreSQL finds its folders relative to where its programs lie, as long as the end of that path is the one it was
# built for: so a copy below another root is a complete installation.
copy_server() {
	local option folder
	for option in bindir pkglibdir sharedir; do
		folder=$("$pg_config" --$option)
		mkdir -p "$box/root$(dirname "$folder")"
		[ -e "$box/root$folder" ] || cp -R "$folder" "$box/root$folder"
	done
	for option in includedir libdir; do
		folder=$("$pg_config" --$option)
		mkdir -p "$box/root$(dirname "$folder")"
		[ -e "$box/root$folder" ] || ln -s "$folder" "$box/root$folder"
	done
	# what is installed here already must not be mistaken for what is built now
	rm -f "$box/root$("$pg_config" --pkglibdir)"/l4.so "$box/root$("$pg_config" --sharedir)"/extension/l4[.-]*
	bin=$box/root$("$pg_config" --bindir)
	[ "$("$bin/pg_config" --pkglibdir)" = "$box/root$("$pg_config" --pkglibdir)" ] ||
		die "the PostgreSQL of $pg_config cannot be copied; name another one by PG_CONFIG"
}

# initdb takes a second, and each TAP test has a server of its own: the same options get a copy of the same folder.
keep_initdb() {
	mv "$bin/initdb" "$bin/initdb.plain"
	cat >"$bin/initdb" <<'END'
#!/bin/sh
# initdb -D FOLDER OPTION...
set -e
[ "$1" = -D ] || exec "$0.plain" "$@"
folder=$2
shift 2
kept=$0.$(echo "$@" | cksum | tr ' ' .)
if [ ! -d "$kept" ]; then
	"$0.plain" -D "$kept.$$" "$@"
	mv -T "$kept.$$" "$kept" || rm -r "$kept.$$"
fi
mkdir -m 700 "$folder"
cp -Rp "$kept/." "$folder"
END
	chmod 755 "$bin/initdb"
}

sandbox_make() {
	local base=${L4_TMP:-${TMPDIR:-/tmp}}
	user=$(sandbox_user)
	box=$(mktemp -d "$base/l4-XXXXXX")
	trap sandbox_remove EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	mkdir "$box/tree" "$box/root" "$box/run" "$box/tmp"
	socket=$box/run
	# a socket's path is limited to some 100 bytes
	if ((${#socket} > 80)); then
		die "$base is too long a path for a server's socket: set L4_TMP to a shorter one"
	fi
	copy_tree
	copy_server
	keep_initdb
	chmod 755 "$box"
	if [ -n "$user" ]; then
		chown -R "$user" "$box"
	fi
	server_version=$("$pg_config" --version)
	say "$server_version, copied to $box${user:+ for user $user}"
}

# Warnings fail the build; the flags come from the environment, so that a user's make is never stopped by one. Nobody
# debugs what is built here, and a sixth of the compiler's time goes into what a debugger reads: PG_CFLAGS=-g brings it back.
sandbox_build() {
	quietly "build" as_user env PG_CFLAGS="-Werror -g0 ${PG_CFLAGS:-}" make -s with_llvm=no -j"$(nproc 2>/dev/null || echo 2)"
	quietly "install" as_user make -s with_llvm=no install
}

# initdb and start, once, with the configuration that initdb writes: what users have. Only the socket is the server's
# own, and fsync is off, since nobody needs the data after a crash.
server_start() {
	quietly "initdb" as_user initdb -D "$box/data" -A trust -U postgres --no-sync -E UTF8 --locale=C.UTF-8
	printf "listen_addresses = ''\nunix_socket_directories = '%s'\nport = 5432\nfsync = off\n" "$socket" |
		as_user tee -a "$box/data/postgresql.conf" >/dev/null
	# not through a pipe: the server would keep it open
	as_user pg_ctl -D "$box/data" -l "$box/server.log" -w -s start >/dev/null 2>&1 || {
		tail -n 40 "$box/server.log"
		die "the private server does not start"
	}
}

sandbox_psql() {
	as_user psql -X -q -U postgres -v ON_ERROR_STOP=1 "$@"
}
