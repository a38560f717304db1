/*
 * no_nls.c
 *		Preloaded before the sanitizers: a server with NLS calls bindtextdomain before they are ready, and
 *		hangs. Messages stay in English.
 */
extern char *bindtextdomain(const char *domain, const char *folder);
extern char *bind_textdomain_codeset(const char *domain, const char *codeset);
extern char *textdomain(const char *domain);
extern char *gettext(const char *message);
extern char *dgettext(const char *domain, const char *message);
extern char *dcgettext(const char *domain, const char *message, int category);
extern char *ngettext(const char *one, const char *many, unsigned long n);
extern char *dngettext(const char *domain, const char *one, const char *many, unsigned long n);

char *
bindtextdomain(const char *domain, const char *folder)
{
	return (char *) folder;
}

char *
bind_textdomain_codeset(const char *domain, const char *codeset)
{
	return (char *) codeset;
}

char *
textdomain(const char *domain)
{
	return (char *) domain;
}

char *
gettext(const char *message)
{
	return (char *) message;
}

char *
dgettext(const char *domain, const char *message)
{
	return (char *) message;
}

char *
dcgettext(const char *domain, const char *message, int category)
{
	return (char *) message;
}

char *
ngettext(const char *one, const char *many, unsigned long n)
{
	return (char *) (n == 1 ? one : many);
}

char *
dngettext(const char *domain, const char *one, const char *many, unsigned long n)
{
	return ngettext(one, many, n);
}
