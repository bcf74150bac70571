"""sbom.py OUTPUT VERSION NAME=VERSION,LICENSE,LINK,PURL...: what a build is made of, as SPDX 2.3 in JSON.

The same build gives the same bytes: the time is SOURCE_DATE_EPOCH, or that of the release; the name of the document has the hash
of what is in it.
"""
import datetime
import hashlib
import json
import os
import sys

EXTRACTED = {'LicenseRef-NVIDIA-CUDA-EULA': 'The End User License Agreement of the CUDA toolkit, EULA.txt in its folder.'}
RELEASED = 1763942400  # a fixed time where SOURCE_DATE_EPOCH is not set


def package(name: str, version: str, license: str, purl: str) -> dict:
    entry = {
        'SPDXID': f'SPDXRef-Package-{name}',
        'name': name,
        'versionInfo': version,
        'downloadLocation': 'NOASSERTION',
        'filesAnalyzed': False,
        'licenseConcluded': 'NOASSERTION',
        'licenseDeclared': license,
        'copyrightText': 'NOASSERTION',
    }
    if purl:
        entry['externalRefs'] = [{'referenceCategory': 'PACKAGE-MANAGER', 'referenceType': 'purl', 'referenceLocator': f'{purl}@{version}'}]
    return entry


def main() -> None:
    output, version, *parts = sys.argv[1:]
    packages = [package('pcgpu', version, 'MIT', 'pkg:generic/pcgpu')]
    packages[0]['copyrightText'] = 'Copyright (c) 2026 the pcgpu authors'
    relations = [('SPDXRef-DOCUMENT', 'DESCRIBES', 'SPDXRef-Package-pcgpu')]
    for part in parts:
        name, values = part.split('=', 1)
        found, license, link, purl = values.split(',')
        entry = package(name, found, license, purl)
        packages.append(entry)
        if link.endswith('_OF'):
            relations.append((entry['SPDXID'], link, 'SPDXRef-Package-pcgpu'))
        else:
            relations.append(('SPDXRef-Package-pcgpu', link, entry['SPDXID']))
    epoch = int(os.environ.get('SOURCE_DATE_EPOCH', RELEASED))
    created = datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime('%Y-%m-%dT%H:%M:%SZ')
    document = {
        'spdxVersion': 'SPDX-2.3',
        'dataLicense': 'CC0-1.0',
        'SPDXID': 'SPDXRef-DOCUMENT',
        'name': f'pcgpu-{version}',
        'documentNamespace': '',
        'creationInfo': {'created': created, 'creators': [f'Tool: pcgpu-sbom-{version}', 'Organization: the pcgpu authors']},
        'packages': packages,
        'hasExtractedLicensingInfos': [{'licenseId': license, 'extractedText': EXTRACTED[license]} for license in EXTRACTED
                                       if any(p['licenseDeclared'] == license for p in packages)],
        'relationships': [{'spdxElementId': a, 'relationshipType': kind, 'relatedSpdxElement': b} for a, kind, b in relations],
    }
    digest = hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
    document['documentNamespace'] = f'https://spdx.org/spdxdocs/pcgpu-{version}-{digest[:32]}'
    with open(output, 'w', encoding='ascii') as file:
        json.dump(document, file, indent=2)
        file.write('\n')


main()
