"""python -m pcgpu: the program that was installed with this package."""
import os
import sys
import sysconfig


def program() -> str:
    """The path of the program: where pip put the scripts of this package."""
    package = os.path.dirname(os.path.abspath(__file__))
    schemes = ['', f'{os.name}_user']
    folders = [sysconfig.get_path('scripts', scheme) if scheme else sysconfig.get_path('scripts') for scheme in schemes]
    folders.append(os.path.join(os.path.dirname(package), 'bin'))  # pip install --target
    folders.append(os.path.join(os.path.dirname(os.path.dirname(package)), 'cmd'))  # a build folder
    for folder in folders:
        path = os.path.join(folder, 'pcgpu')
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise FileNotFoundError(f'the program pcgpu is in none of {", ".join(folders)}; install the package again')


if __name__ == '__main__':
    try:
        path = program()
    except FileNotFoundError as error:
        sys.exit(f'pcgpu: {error}')
    sys.stdout.flush()
    os.execv(path, [path, *sys.argv[1:]])
