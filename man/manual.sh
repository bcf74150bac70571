#!/bin/sh
# manual.sh PAGE...: the manual pages as one page of HTML, on standard output. Needs mandoc.
cat << 'HTML'
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>pcgpu: the manual</title><style>
body{font:16px/1.5 sans-serif;max-width:52em;margin:0 auto;padding:1em}
pre,code{font:13px/1.4 monospace}pre{background:#f4f5f7;padding:.8em;white-space:pre-wrap}b{white-space:nowrap}
table.head,table.foot{display:none}h1{font-size:1.2em}h1.page{font-size:1.8em;border-top:1px solid #ccc;padding-top:1em}h2{font-size:1.05em}
a{color:#0b6f6a;text-decoration:none;white-space:nowrap}a.permalink{color:inherit;white-space:normal}nav a{display:inline-block;margin-right:1em}dt{margin-top:.4em}dd{margin-left:2em}table{border-collapse:collapse}td{padding:.1em .8em .1em 0}.Bd-indent{margin-left:2em}
@media(prefers-color-scheme:dark){body{background:#15191e;color:#d8dee6}pre{background:#20262d}a{color:#5cc8c0}}
</style></head><body><nav>
HTML
name_of() { basename "$1" | sed 's/\.[0-9]$//'; }
for PAGE; do
    printf '<a href="#%s">%s</a>\n' "$(name_of "$PAGE")" "$(name_of "$PAGE")"
done
echo '</nav>'
for PAGE; do
    NAME=$(name_of "$PAGE")
    printf '<article><h1 class="page" id="%s">%s</h1>\n' "$NAME" "$NAME"
    # A section has the name of its page before its own; other pages are links.
    mandoc -T html -O fragment "$PAGE" | awk '/<pre>/ { pre = 1 } !pre || !/^<br\/>$/; /<\/pre>/ { pre = 0 }' | sed -E "s/ id=\"([^\"]*)\"/ id=\"$NAME.\1\"/g; s/ href=\"#([^\"]*)\"/ href=\"#$NAME.\1\"/g
        s,<b>(pcgpu(-[a-z]+)?)</b>\(([0-9])\),<a href=\"#\1\">\1(\3)</a>,g" || exit 1
    echo '</article>'
done
echo '</body></html>'
