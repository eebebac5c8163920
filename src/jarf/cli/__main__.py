from jarf.cli import main

raise SystemExit(main())
